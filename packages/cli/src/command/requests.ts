import { CommandError } from './errors.ts'
import { exitCodes } from './exit-codes.ts'
import { withProgress } from './progress.ts'

type ErrorResponse = {
  readonly error?: string
  readonly message?: string
  readonly docs?: string
  readonly details?: readonly { readonly path: string; readonly message: string }[]
}

type RequestOptions = {
  readonly url: string
  readonly path: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly timeoutMs?: number
  /** The option that names the address. */
  readonly addressOption?: string
}

/** Sends a request to a service. */
export const requestService = async (options: RequestOptions): Promise<Response> => {
  const { url, path, method = 'GET', headers, body, timeoutMs = 30_000, addressOption = '--url' } = options
  const send = () =>
    fetch(new URL(path, url), {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(timeoutMs),
    })
  if (!URL.canParse(path, url))
    throw new CommandError(`${addressOption} must be an address such as https://pohf.example.`, {
      code: 'usage',
      exitCode: exitCodes.usage,
    })
  return withProgress(`waiting for ${url}`, send).catch((error: unknown) => {
    const { cause } = error as { cause?: { code?: string } }
    throw new CommandError(`${url} does not answer (${cause?.code ?? String(error)}).`, {
      code: 'unreachable',
      exitCode: exitCodes.unreachable,
      fix: `Start the service there, or name the right address with ${addressOption}.`,
      cause: error,
    })
  })
}

/** The catalogue is loaded only where something was refused. */
const fixOf = async (code: string | undefined): Promise<string | undefined> => {
  const { errorCatalogue } = await import('@pohf/protocol')
  return Object.entries(errorCatalogue).find(([name]) => name === code)?.[1].fix
}

/** The refusal of a service as an error: its message, its details and its fix. */
export const refusalOf = async (response: Response, text: string): Promise<CommandError> => {
  let answer: ErrorResponse = {}
  try {
    answer = JSON.parse(text) as ErrorResponse
  } catch {
    // A proxy, or a service of another kind.
  }
  const details = (answer.details ?? []).map((detail) => `\n  ${detail.path}: ${detail.message}`).join('')
  const code = answer.error ?? `status_${response.status}`
  return new CommandError(
    `${answer.message ?? `The service answers ${response.status} ${response.statusText}.`} (${code})${details}`,
    { code, fix: await fixOf(answer.error) },
  )
}

/** Sends a request and returns the JSON of its answer; a refusal is an error. */
export const requestJson = async <T>(options: RequestOptions): Promise<T> => {
  const response = await requestService(options)
  const text = await response.text()
  if (!response.ok) throw await refusalOf(response, text)
  try {
    return JSON.parse(text) as T
  } catch (cause) {
    throw new CommandError(`${options.url} answers with something else than JSON: is it the service?`, {
      code: 'not_json',
      fix: `Name the address of the service with ${options.addressOption ?? '--url'}.`,
      cause,
    })
  }
}
