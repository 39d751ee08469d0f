/** A failed call, as it is shown. */
export type ApiError = {
  readonly code: string
  readonly message: string
  readonly details: readonly string[]
  readonly requestId: string | undefined
}

/** One listener under one key. The key is in this closure and nowhere else: no cookie, no storage. */
export type Api = {
  readonly mode: 'test' | 'live' | 'operator'
  readonly call: <T>(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: unknown) => Promise<T>
  /** The answer as it was written, for files. */
  readonly text: (path: string) => Promise<string>
}

class ApiCallError extends Error {
  readonly apiError: ApiError
  constructor(error: ApiError) {
    super(error.message)
    this.apiError = error
  }
}

type ErrorResponse = {
  readonly error?: string
  readonly message?: string
  readonly requestId?: string
  readonly details?: readonly { readonly path: string; readonly message: string }[]
}

const unreachableError: ApiError = {
  code: 'unreachable',
  message: 'The service did not answer. Is it running, and are you online?',
  details: [],
  requestId: undefined,
}

const errorFromResponse = (answer: ErrorResponse | undefined): ApiError =>
  answer
    ? {
        code: answer.error ?? 'unknown',
        message: answer.message ?? 'The service refused without a reason.',
        details: (answer.details ?? []).map((detail) => `${detail.path}: ${detail.message}`),
        requestId: answer.requestId,
      }
    : unreachableError

const modeOf = (key: string): Api['mode'] => {
  if (key.startsWith('svc_op_')) return 'operator'
  return key.startsWith('svc_test_') ? 'test' : 'live'
}

export const makeApi = (key: string, onBadKey: (error: ApiError) => void): Api => {
  const request = async <T>(
    method: string,
    path: string,
    body: unknown,
    read: (response: Response) => Promise<T>,
  ): Promise<T> => {
    const response = await fetch(path, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      credentials: 'omit',
      cache: 'no-store',
      signal: AbortSignal.timeout(20_000),
    }).catch(() => undefined)
    if (response?.ok) {
      const answer = await read(response).catch(() => undefined)
      if (answer !== undefined) return answer
      throw new ApiCallError(unreachableError)
    }
    const error = errorFromResponse(
      (await response?.json().catch(() => undefined)) as ErrorResponse | undefined,
    )
    if (response?.status === 401) onBadKey(error)
    throw new ApiCallError(error)
  }
  return {
    mode: modeOf(key),
    call: <T>(method: string, path: string, body?: unknown) =>
      request(method, path, body, (response) => response.json() as Promise<T>),
    text: (path) => request('GET', path, undefined, (response) => response.text()),
  }
}

export const toApiError = (error: unknown): ApiError =>
  error instanceof ApiCallError
    ? error.apiError
    : {
        code: 'page',
        message: `This page failed: ${error instanceof Error ? error.message : String(error)}`,
        details: [],
        requestId: undefined,
      }
