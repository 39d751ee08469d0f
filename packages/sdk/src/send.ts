import { PohfError } from './error.ts'

/** No answer arrived: a network error or a timeout. */
export class PohfUnreachable extends Error {
  override readonly name = 'PohfUnreachable'
}

export type Request = {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  readonly signal: AbortSignal | undefined
}
export type Transport = {
  readonly fetch: typeof fetch
  readonly timeoutMs: number
  readonly retries: number
  readonly wait: (ms: number) => Promise<void>
}

const answerBytesMax = 16_777_216
const waitMsMax = 10_000

/** A declared length is not enough: an answer in chunks has none, and a compressed one grows. */
const readText = async (response: Response): Promise<string> => {
  const decoder = new TextDecoder()
  let text = ''
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > answerBytesMax) throw new PohfUnreachable('The answer is too long.')
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}

const readBody = async (response: Response): Promise<unknown> => {
  const text = await readText(response)
  if (!(response.headers.get('content-type') ?? '').includes('json')) return text
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}

export type Answer = {
  readonly status: number
  readonly body: unknown
  readonly retryAfterSeconds: number | undefined
}

/** One request and its answer, whatever its status. */
export const exchange = async (
  transport: Pick<Transport, 'fetch' | 'timeoutMs'>,
  request: Request,
): Promise<Answer> => {
  const timeout = AbortSignal.timeout(transport.timeoutMs)
  const signal = request.signal ? AbortSignal.any([request.signal, timeout]) : timeout
  const { method, headers, body } = request
  const response = await transport.fetch(request.url, {
    method,
    headers,
    signal,
    redirect: 'error',
    ...(body === undefined ? {} : { body }),
  })
  return {
    status: response.status,
    body: await readBody(response),
    retryAfterSeconds: Number(response.headers.get('retry-after')) || undefined,
  }
}

const attempt = async (transport: Transport, request: Request): Promise<unknown> => {
  const { status, body, retryAfterSeconds } = await exchange(transport, request)
  if (status >= 200 && status < 300) return body
  throw Object.assign(new PohfError(status, body), { retryAfter: retryAfterSeconds })
}

/** A Retry-After that a program should not sleep through, such as the next clock hour: the caller decides. */
const asksForLater = (error: unknown): boolean =>
  ((error as { retryAfter?: number }).retryAfter ?? 0) * 1_000 > waitMsMax

/** 50 to 100 % of 250 ms, 500 ms, 1 s, ...; a Retry-After of the service takes precedence. */
const retryDelayMs = (round: number, error: unknown): number => {
  const asked = (error as { retryAfter?: number }).retryAfter
  const backOff = 250 * 2 ** round * (0.5 + Math.random() / 2)
  return Math.min(waitMsMax, asked === undefined ? backOff : asked * 1_000)
}

/** Sends, and retries where that is safe: calls with the same key act once. */
export const send = async (transport: Transport, request: Request): Promise<unknown> => {
  for (let round = 0; ; round += 1) {
    try {
      return await attempt(transport, request)
    } catch (error) {
      if (request.signal?.aborted) throw error
      const refused = error instanceof PohfError
      const again = refused ? error.retryable && !asksForLater(error) : !(error instanceof PohfUnreachable)
      if (!again || round >= transport.retries) {
        if (refused || error instanceof PohfUnreachable) throw error
        throw new PohfUnreachable(`No answer from ${new URL(request.url).host}.`, { cause: error })
      }
      await transport.wait(retryDelayMs(round, error))
    }
  }
}
