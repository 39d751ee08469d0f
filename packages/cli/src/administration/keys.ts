import { writeFileSync } from 'node:fs'
import { CommandError, UsageError } from '../command/errors.ts'
import { readJson, readText } from '../command/files.ts'
import { requireServer } from '../command/missing-server.ts'
import { printJson } from '../command/operator.ts'
import { withProgress } from '../command/progress.ts'

export type SocketOptions = { readonly socket?: string | true; readonly json?: boolean }
type Message = { readonly op: string; readonly [field: string]: unknown }

/** Loaded on demand: the server is not part of every installation of the command line. */
const loadServer = () => {
  requireServer()
  return import('@pohf/server/keys')
}

const causeOf = (error: unknown): string =>
  error instanceof Error
    ? `${error.message} ${error.cause instanceof Error ? error.cause.message : ''}`
    : String(error)

/** Prints the result of an operation of the signer as JSON. */
export const attempt = async (options: SocketOptions, work: () => Promise<unknown>): Promise<void> => {
  const result = await work().catch((error: unknown) => {
    if (error instanceof CommandError) throw error
    throw new CommandError(causeOf(error).trim(), {
      code: 'signer_refused',
      fix: 'Run it as the user of the signer, with its settings, while it runs; see docs/operate/keys.md.',
      cause: error,
    })
  })
  printJson(options, result)
}

/** Asks the signer at the operators' socket: that of `--socket`, or where the settings of the environment put it. */
export const ask = async (options: SocketOptions, message: Message): Promise<unknown> => {
  const { connectOperatorSocket, readSignerConfig } = await loadServer()
  const { socket } = options
  const path = typeof socket === 'string' ? socket : readSignerConfig().SIGNER_OPERATOR_SOCKET
  return withProgress('waiting for the signer', () => connectOperatorSocket(path).request(message))
}

/** Files with keys are new files that only this user can read. */
const writeNew = (path: string, text: string): void =>
  writeFileSync(path, text, { flag: 'wx', mode: 0o600, flush: true })

/** `pohf keys admission export`. */
export const exportAdmission = async (
  options: SocketOptions & { readonly out: string },
): Promise<unknown> => {
  const { statementKeyOf } = await loadServer()
  const key = statementKeyOf(await ask(options, { op: 'export' }))
  writeNew(options.out, `${JSON.stringify(key.jwk)}\n`)
  // The copy in the key folder goes only after the file can be read back.
  if (statementKeyOf(readJson(options.out)).kid !== key.kid)
    throw new Error(`${options.out} does not hold the admission key: nothing was removed from the key folder`)
  await ask(options, { op: 'forget' })
  return { kid: key.kid, file: options.out }
}

/** `pohf keys admission request`. */
export const writeRequest = async (
  options: SocketOptions & { readonly out: string; readonly reserve: string },
): Promise<unknown> => {
  const request = await ask(options, { op: 'request', reserve: Number(options.reserve) })
  const { manifest } = (await ask(options, { op: 'show' })) as { manifest: string | null }
  const revocations = await ask(options, { op: 'revocations' })
  writeNew(options.out, `${JSON.stringify({ request, manifest, revocations })}\n`)
  return { file: options.out }
}

export type AdmitOptions = SocketOptions & {
  readonly admission?: string
  readonly out?: string
  readonly signAtOnce?: true
  readonly identity?: string[]
}
/** `pohf keys admit`. */
export const admit = async (files: readonly string[], options: AdmitOptions): Promise<unknown> => {
  const { admitOffline, describeRequest, statementKeyOf } = await loadServer()
  const requests = files.map(readJson)
  const identities = options.identity ?? []
  const admitted = requests.map(describeRequest)
  if (options.admission === undefined) {
    for (const file of requests)
      await ask(options, {
        op: 'admit',
        request: (file as { request?: unknown }).request,
        atOnce: options.signAtOnce === true,
        identities,
      })
    return { admitted }
  }
  if (options.out === undefined)
    throw new UsageError('--out is needed with --admission.', 'Name the file for the new manifest.')
  const signFrom = options.signAtOnce ? 'at-once' : 'published-ahead'
  const key = statementKeyOf(readJson(options.admission))
  const versions = admitOffline(key, requests, { now: Date.now(), signFrom, newIdentities: identities })
  writeNew(options.out, versions.map((jws) => `${jws}\n`).join(''))
  return { file: options.out, versions: versions.length, admitted }
}

/** `pohf keys admission install`. */
export const install = async (
  file: string,
  options: SocketOptions & { readonly replace?: true },
): Promise<unknown> => {
  let answer: unknown
  for (const manifest of readText(file).split('\n').filter(Boolean))
    answer = await ask(options, { op: 'install', manifest, replace: options.replace === true })
  return answer
}
