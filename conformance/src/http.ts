import { Failure, at, expectThat, isRecord, show } from './expect.ts'

const timeoutMsMax = 10_000

export type Answer = {
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
  readonly get: (path: string, options?: Options) => Promise<Answer>
  /** Sends JSON; without a body nothing at all. */
  readonly post: (path: string, body?: unknown, options?: Options) => Promise<Answer>
  readonly send: (request: RawRequest) => Promise<Answer>
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
  const send = async (request: RawRequest): Promise<Answer> => {
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

const shown = (answer: Answer): string => `${answer.status} ${show(answer.text)}`

export const expectStatus = (answer: Answer, ...wanted: readonly number[]): void =>
  expectThat(wanted.includes(answer.status), `${answer.call} to answer ${wanted.join(' or ')}`, shown(answer))

const expectErrorBody = (answer: Answer, code?: string): void => {
  const [ok, error] = [at(answer.body, 'ok'), at(answer.body, 'error')]
  expectThat(ok === false, 'ok false in the error body', shown(answer))
  expectThat(typeof error === 'string' && error !== '', 'error as text in the error body', shown(answer))
  if (code !== undefined) expectThat(error === code, `error ${code}`, shown(answer))
}

/** A refusal in the documented form; with a code also that one. */
export const expectRefusal = (answer: Answer, status: number, code?: string): void => {
  expectStatus(answer, status)
  expectErrorBody(answer, code)
}

/** A refusal where the specification leaves the status open. */
export const expectSomeRefusal = (answer: Answer): void => {
  expectThat(
    answer.status >= 400 && answer.status < 500,
    `${answer.call} to be refused with a 4xx`,
    shown(answer),
  )
  expectErrorBody(answer)
}

/** A success whose body is a JSON object with something in it, whatever its fields. */
export const expectObject = (answer: Answer): void => {
  expectStatus(answer, 200)
  const isFilled = isRecord(answer.body) && Object.keys(answer.body).length > 0
  expectThat(isFilled, 'a JSON object with fields', shown(answer))
}
