import { Failure, at, expectThat, isRecord, show } from './expect.ts'

const timeoutMsMax = 10_000

export type HttpResponse = {
  readonly call: string
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The parsed JSON, or undefined where the body is something else. */
  readonly body: unknown
}

type Options = {
  readonly key?: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
}

type RawRequest = {
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export type Http = {
  readonly get: (path: string, options?: Options) => Promise<HttpResponse>
  /** Sends JSON; without a body nothing at all. */
  readonly post: (path: string, body?: unknown, options?: Options) => Promise<HttpResponse>
  readonly send: (request: RawRequest) => Promise<HttpResponse>
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const headersOf = (options: Options | undefined): Record<string, string> => ({
  ...(options?.key === undefined ? {} : { authorization: `Bearer ${options.key}` }),
  ...options?.headers,
})

const pathOf = (path: string, options: Options | undefined): string =>
  options?.query ? `${path}?${new URLSearchParams(options.query).toString()}` : path

/** Calls under one base address, each bounded in time, and none past the end of the run. */
export const makeHttp = (baseUrl: string, end: AbortSignal): Http => {
  const send = async (request: RawRequest): Promise<HttpResponse> => {
    const call = `${request.method} ${request.path}`
    try {
      const response = await fetch(baseUrl + request.path, {
        method: request.method,
        headers: request.headers ?? {},
        redirect: 'manual',
        signal: AbortSignal.any([end, AbortSignal.timeout(timeoutMsMax)]),
        ...(request.body === undefined ? {} : { body: request.body }),
      })
      const text = await response.text()
      return { call, status: response.status, headers: response.headers, text, body: parse(text) }
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : ''
      throw new Failure(`an answer to ${call}`, `${error instanceof Error ? error.message : 'none'}${cause}`)
    }
  }
  return {
    send,
    get: (path, options) => send({ method: 'GET', path: pathOf(path, options), headers: headersOf(options) }),
    post: (path, body, options) =>
      send({
        method: 'POST',
        path: pathOf(path, options),
        headers: {
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headersOf(options),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
  }
}

const describeResponse = (answer: HttpResponse): string => `${answer.status} ${show(answer.text)}`

export const expectStatus = (answer: HttpResponse, ...wanted: readonly number[]): void =>
  expectThat(
    wanted.includes(answer.status),
    `${answer.call} to answer ${wanted.join(' or ')}`,
    describeResponse(answer),
  )

const expectErrorBody = (answer: HttpResponse, code?: string): void => {
  const [ok, error] = [at(answer.body, 'ok'), at(answer.body, 'error')]
  expectThat(ok === false, 'ok false in the error body', describeResponse(answer))
  expectThat(
    typeof error === 'string' && error !== '',
    'error as text in the error body',
    describeResponse(answer),
  )
  if (code !== undefined) expectThat(error === code, `error ${code}`, describeResponse(answer))
}

/** A refusal in the documented form; with a code also that one. */
export const expectRefusal = (answer: HttpResponse, status: number, code?: string): void => {
  expectStatus(answer, status)
  expectErrorBody(answer, code)
}

/** A refusal where the specification leaves the status open. */
export const expectSomeRefusal = (answer: HttpResponse): void => {
  expectThat(
    answer.status >= 400 && answer.status < 500,
    `${answer.call} to be refused with a 4xx`,
    describeResponse(answer),
  )
  expectErrorBody(answer)
}

/** A success whose body is a JSON object with something in it, whatever its fields. */
export const expectObject = (answer: HttpResponse): void => {
  expectStatus(answer, 200)
  const isFilled = isRecord(answer.body) && Object.keys(answer.body).length > 0
  expectThat(isFilled, 'a JSON object with fields', describeResponse(answer))
}
