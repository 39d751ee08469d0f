import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { agentCall, type AgentRemote } from '../command/agent.ts'
import { CommandError, UsageError } from '../command/errors.ts'
import { deleteLogin, loginFile, writeLogin } from '../command/login-file.ts'
import { printAnswer } from '../command/output.ts'

type Profile = { readonly agentId: string | null; readonly name: string | null; readonly mode: string | null }

/** Asks on the terminal, without showing what is typed. */
const askKey = async (): Promise<string> => {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const reader = createInterface({ input: process.stdin, output: silent, terminal: true })
  process.stderr.write('API key: ')
  try {
    return await reader.question('')
  } finally {
    reader.close()
    process.stderr.write('\n')
  }
}

const readKey = async (): Promise<string> => {
  const key = (process.stdin.isTTY ? await askKey() : await text(process.stdin)).trim()
  if (key === '')
    throw new UsageError(
      'No API key was given.',
      'Type it where pohf login asks, or pipe it: pohf login < key.txt. Get one with pohf register.',
    )
  return key
}

/** The agent of the key. A key without the scope `keys` is valid and may not read it. */
const readProfile = async (remote: AgentRemote): Promise<Profile> =>
  agentCall<Profile>(remote, 'GET', '/api/agents/me').catch((error: unknown) => {
    if (error instanceof CommandError && error.code === 'forbidden')
      return { agentId: null, name: null, mode: null }
    throw error
  })

/** `pohf login`: keeps a key that the service accepts. The key of an earlier login is not a default here. */
export const login = async (options: AgentRemote & { readonly namedKey?: string }): Promise<void> => {
  const key = options.namedKey ?? (await readKey())
  const { agentId, name, mode } = await readProfile({ ...options, key })
  const file = writeLogin({ url: options.url, key, agentId })
  printAnswer(options, { ok: true, url: options.url, agentId, name, mode, file }, () => {
    console.log(
      agentId === null
        ? `Logged in at ${options.url} with a key of limited scope.`
        : `Logged in at ${options.url} as ${name} (${agentId}), with a ${mode} key.`,
    )
    console.log(`The key is kept in ${file}, readable by you alone, until pohf logout.`)
  })
}

/** `pohf logout`: the key stays valid. */
export const logout = (options: { readonly json?: boolean }): void => {
  const deleted = deleteLogin()
  printAnswer(options, { ok: true, deleted }, () =>
    console.log(
      deleted
        ? `Deleted ${loginFile()}. The key itself stays valid: revoke it where nobody should use it any more.`
        : 'You are not logged in.',
    ),
  )
}
