import { UsageError } from '../command/errors.ts'
import { readLogin, writeLogin } from '../command/login-file.ts'
import { printAnswer } from '../command/output.ts'
import { requestJson } from '../command/requests.ts'

type RegisterOptions = {
  readonly url: string
  readonly name: string
  readonly email: string
  readonly mode: string
  readonly login: boolean
  readonly json?: boolean
}
type Registration = {
  readonly apiKey: string
  readonly agentId: string
  readonly mode: string
  readonly next: string
}

/** `pohf register`: the key is shown once, so another key that is kept is never overwritten. */
export const register = async (options: RegisterOptions): Promise<void> => {
  const known = options.login ? readLogin() : undefined
  if (known)
    throw new UsageError(
      `You are logged in at ${known.url}, and the new key would replace that key.`,
      'Run pohf logout first, or add --no-login to print the new key without keeping it.',
    )
  const registration = await requestJson<Registration>({
    url: options.url,
    method: 'POST',
    path: '/api/agents/register',
    body: { name: options.name, contactEmail: options.email, mode: options.mode },
  })
  const { apiKey, agentId, mode, next } = registration
  const file = options.login ? writeLogin({ url: options.url, key: apiKey, agentId }) : null
  printAnswer(options, { ...registration, file }, () => {
    console.log(`Registered ${agentId} at ${options.url}, with a ${mode} key. It is shown this once:\n`)
    console.log(`  ${apiKey}\n`)
    console.log(file === null ? 'Keep it, then run pohf login.' : `It is kept in ${file} until pohf logout.`)
    console.log(next)
  })
}
