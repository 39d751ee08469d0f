/** A failed call, as it is shown. */
export type ApiError = {
  readonly code: string
  readonly message: string
  readonly details: readonly string[]
  readonly requestId: string | undefined
}

export type Mode = 'test' | 'live'

/** What a person of an account can do besides the calls of a page. */
export type AccountAccess = {
  readonly id: string
  readonly role: 'owner' | 'developer' | 'viewer'
  readonly email: string
  readonly modes: readonly Mode[]
  readonly switchTo: (mode: Mode) => void
}

/** One listener under one key or one sign-in. The bearer is in this closure and nowhere else: no storage. */
export type Api = {
  readonly mode: Mode | 'operator'
  /** The last four characters of the key, as the list of keys has them; undefined where a person signed in. */
  readonly keyHint: string | undefined
  readonly account: AccountAccess | undefined
  /** Ends the session of a person who signed in; a key has none. */
  readonly signOut: (() => Promise<void>) | undefined
  /** With an idempotency key, the call has its effect once, however often it is repeated. */
  readonly call: <T>(method: Method, path: string, body?: unknown, idempotencyKey?: string) => Promise<T>
  /** The answer as it was written, for files. */
  readonly text: (path: string) => Promise<string>
  /** One page of a file, and the cursor of the next one. */
  readonly page: (path: string) => Promise<FilePage>
}
type FilePage = { readonly text: string; readonly nextCursor: string | undefined }
type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

export class ApiCallError extends Error {
  readonly apiError: ApiError
  /** Undefined where nothing was answered. */
  readonly status: number | undefined
  constructor(error: ApiError, status?: number) {
    super(error.message)
    this.apiError = error
    this.status = status
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

const failureOf = async (response: Response | undefined): Promise<ApiError> =>
  errorFromResponse((await response?.json().catch(() => undefined)) as ErrorResponse | undefined)

type Send = {
  readonly method: string
  readonly path: string
  readonly body: unknown
  /** Undefined for a call that is authorized by a cookie. */
  readonly bearer: string | undefined
  readonly idempotencyKey?: string | undefined
}

/** Undefined where the service cannot be reached. */
const send = ({ method, path, body, bearer, idempotencyKey }: Send): Promise<Response | undefined> =>
  fetch(path, {
    method,
    headers: {
      'content-type': 'application/json',
      ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
      ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    credentials: bearer === undefined ? 'same-origin' : 'omit',
    cache: 'no-store',
    signal: AbortSignal.timeout(20_000),
  }).catch(() => undefined)

const readWith = async <T>(response: Response, read: (response: Response) => Promise<T>): Promise<T> => {
  const answer = await read(response).catch(() => undefined)
  if (answer !== undefined) return answer
  throw new ApiCallError(unreachableError)
}

/** A call that the cookie of a person who is signed in authorizes. */
export const callConsole = async <T>(method: Method, path: string, body?: unknown): Promise<T> => {
  const response = await send({ method, path, body, bearer: undefined })
  if (response?.ok) return readWith(response, (good) => good.json() as Promise<T>)
  throw new ApiCallError(await failureOf(response), response?.status)
}

export type ApiAccess = Pick<Api, 'mode' | 'keyHint' | 'account' | 'signOut'> & {
  readonly bearer: () => Promise<string>
  /** Forgets a bearer that was refused; true if another may work. */
  readonly renew: () => boolean
  /** Removes the reason of a refusal, as a new sign-in does; true if the call can be repeated. */
  readonly resolve?: (error: ApiError) => Promise<boolean>
  readonly onRefused: (error: ApiError) => void
}

export const makeApi = (access: ApiAccess): Api => {
  const request = async <T>(
    sent: Omit<Send, 'bearer'>,
    read: (response: Response) => Promise<T>,
  ): Promise<T> => {
    const attempt = async () => send({ ...sent, bearer: await access.bearer() })
    let response = await attempt()
    if (response?.status === 401 && access.renew()) response = await attempt()
    if (response?.ok) return readWith(response, read)
    let error = await failureOf(response)
    if (await access.resolve?.(error)) {
      response = await attempt()
      if (response?.ok) return readWith(response, read)
      error = await failureOf(response)
    }
    if (response?.status === 401) access.onRefused(error)
    throw new ApiCallError(error)
  }
  return {
    mode: access.mode,
    keyHint: access.keyHint,
    account: access.account,
    signOut: access.signOut,
    call: <T>(method: string, path: string, body?: unknown, idempotencyKey?: string) =>
      request({ method, path, body, idempotencyKey }, (response) => response.json() as Promise<T>),
    text: (path) => request({ method: 'GET', path, body: undefined }, (response) => response.text()),
    page: (path) =>
      request({ method: 'GET', path, body: undefined }, async (response) => ({
        text: await response.text(),
        nextCursor: response.headers.get('x-next-cursor') ?? undefined,
      })),
  }
}

/** The API under a key that was pasted. */
export const makeKeyApi = (key: string, onRefused: (error: ApiError) => void): Api =>
  makeApi({
    mode: modeOf(key),
    keyHint: key.slice(-4),
    account: undefined,
    signOut: undefined,
    bearer: async () => key,
    renew: () => false,
    onRefused,
  })

export const toApiError = (error: unknown): ApiError =>
  error instanceof ApiCallError
    ? error.apiError
    : {
        code: 'page',
        message: `This page failed: ${error instanceof Error ? error.message : String(error)}`,
        details: [],
        requestId: undefined,
      }
