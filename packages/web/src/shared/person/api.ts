type ErrorDetail = { readonly path: string; readonly code?: string }

/** A call that was not answered as asked. */
export class ApiError extends Error {
  readonly code: string
  readonly requestId: string | undefined
  /** What was refused, by path and code. */
  readonly details: readonly ErrorDetail[]
  constructor(code: string, message: string, requestId?: string, details: readonly ErrorDetail[] = []) {
    super(message)
    this.code = code
    this.requestId = requestId
    this.details = details
  }
}

type ErrorResponse = {
  readonly error?: string
  readonly message?: string
  readonly requestId?: string
  readonly details?: readonly ErrorDetail[]
}

/** How far the service's clock is ahead of this device's, by the last answer. */
let clockOffsetMs = 0
export const serverNow = (): number => Date.now() + clockOffsetMs

/** Asks our own service, as the person who is signed in: the browser sends the cookie, no script sees it. */
export const callService = async <T>(
  method: 'GET' | 'POST',
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<T> => {
  const response = await fetch(path, {
    method,
    ...(body === undefined
      ? {}
      : { headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) }),
    cache: 'no-store',
    signal: AbortSignal.timeout(20_000),
  }).catch(() => undefined)
  const answer = (await response?.json().catch(() => undefined)) as (T & ErrorResponse) | undefined
  const date = Date.parse(response?.headers.get('date') ?? '')
  if (Number.isFinite(date)) clockOffsetMs = date - Date.now()
  if (response?.ok && answer !== undefined) return answer
  if (!answer) throw new ApiError('unreachable', '')
  throw new ApiError(answer.error ?? 'failed', answer.message ?? '', answer.requestId, answer.details)
}

export const toApiError = (error: unknown): ApiError =>
  error instanceof ApiError ? error : new ApiError('failed', error instanceof Error ? error.message : '')
