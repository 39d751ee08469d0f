export type AgentRemote = { readonly url: string; readonly key?: string; readonly json?: boolean }
type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

/** A command failed: the message of the service's refusal, or that it does not answer. */
export class CommandError extends Error {}

/** The key of `--key` or of POHF_KEY. POHF_API_KEY is an older name of the variable. */
export const findKey = (flag: string | undefined): string | undefined =>
  flag ?? process.env['POHF_KEY'] ?? process.env['POHF_API_KEY']

export const keyOf = (remote: AgentRemote): string => {
  const key = findKey(remote.key)
  if (!key)
    throw new CommandError(
      'An API key is needed: --key or POHF_KEY. A free test key comes from POST /api/agents/register.',
    )
  return key
}

type ErrorResponse = { readonly error?: string; readonly message?: string; readonly docs?: string }

/** Calls the service with the agent's key and returns its answer. */
export const agentCall = async <T>(
  remote: AgentRemote,
  method: Method,
  path: string,
  body?: unknown,
): Promise<T> => {
  const response = await fetch(new URL(path, remote.url), {
    method,
    headers: { authorization: `Bearer ${keyOf(remote)}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(30_000),
  }).catch((error: unknown) => {
    const { cause } = error as { cause?: { code?: string } }
    throw new CommandError(
      `${remote.url} does not answer (${cause?.code ?? String(error)}). Is the service running, and --url right?`,
      { cause: error },
    )
  })
  const answer = (await response.json()) as T &
    ErrorResponse & { details?: { path: string; message: string }[] }
  if (response.ok) return answer
  const details = (answer.details ?? []).map((detail) => `\n  ${detail.path}: ${detail.message}`).join('')
  throw new CommandError(
    `${answer.message ?? response.statusText} (${answer.error ?? response.status})${details}`,
  )
}

/** Runs a command; a CommandError is printed and sets the exit code 1. */
export const runCommand = async (work: () => Promise<void>): Promise<void> => {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    console.error(error.message)
    process.exitCode = 1
  }
}
