import type { additions, specification } from '@pohf/protocol'
import type { z } from 'zod'
import { operations } from './operations.ts'
import { send, type Transport } from './send.ts'

/**
 * Leaves out the rows that this client does not call: those under /console are for our page, those with the key in the body
 * for clients of other services, a body of text is that of the card provider, and an image is for the page of a worker.
 */
type Row = Exclude<
  (typeof specification)[number] | (typeof additions)[number],
  { auth: 'secret' } | { path: `/console/${string}` } | { textBody: true } | { mediaType: 'image/webp' }
>
type Part<R, Name extends string> =
  R extends Record<Name, infer Schema extends z.ZodType> ? z.input<Schema> : unknown
type Input<R> = Part<R, 'params'> & Part<R, 'query'> & Part<R, 'body'>
type Output<R> = R extends { response: infer Schema extends z.ZodType } ? z.output<Schema> : never

type CallOptions = {
  /** Calls with the same key act once. Without one the client makes a key for each call, and keeps it for retries. */
  readonly idempotencyKey?: string
  readonly signal?: AbortSignal
}
type Method<R> =
  Partial<Input<R>> extends Input<R>
    ? (input?: Input<R>, options?: CallOptions) => Promise<Output<R>>
    : (input: Input<R>, options?: CallOptions) => Promise<Output<R>>

type ModuleOf<Id> = Id extends `${infer Module}.${string}` ? Module : never
type Camel<Text> = Text extends `${infer Head}-${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : Text
type NameOf<Id> = Id extends `${string}.${infer Name}` ? Camel<Name> : never

/** One method for each endpoint: `client.credentials.verify({ sessionId })`. `baseUrl` has no slash at its end. */
export type Client = {
  readonly [Module in ModuleOf<Row['publicId']>]: {
    readonly [
      R in Extract<Row, { publicId: `${Module}.${string}` }> as NameOf<R['publicId']> & string
    ]: Method<R>
  }
} & { readonly baseUrl: string }

export type ClientSettings = {
  readonly baseUrl: string
  /** Not needed for public endpoints. Never put one into a page. */
  readonly apiKey?: string
  readonly timeoutMs?: number
  readonly retries?: number
  readonly fetch?: typeof fetch
  /** For tests of your own: how to wait between attempts. */
  readonly wait?: (ms: number) => Promise<void>
}

const camel = (name: string) => name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())

type Fields = Readonly<Record<string, unknown>>

/** The path takes its own fields. The rest is the query of a GET or DELETE, and the body of other methods. */
const buildRequest = (operation: (typeof operations)[number], input: Fields) => {
  const rest: Record<string, unknown> = Array.isArray(input) ? {} : { ...input }
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = rest[name]
    delete rest[name]
    if (typeof value !== 'string' || value === '') throw new TypeError(`${name} is missing.`)
    return encodeURIComponent(value)
  })
  if (operation.method === 'POST' || operation.method === 'PATCH')
    return { path, body: JSON.stringify(Array.isArray(input) ? input : rest) }
  const query = new URLSearchParams(
    Object.entries(rest)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]): [string, string] => [name, String(value)]),
  ).toString()
  return { path: query === '' ? path : `${path}?${query}`, body: undefined }
}

/** A client of one deployment. */
export const createClient = (settings: ClientSettings): Client => {
  const base = settings.baseUrl.replace(/\/+$/, '')
  const transport: Transport = {
    fetch: settings.fetch ?? fetch,
    timeoutMs: settings.timeoutMs ?? 30_000,
    retries: settings.retries ?? 2,
    wait: settings.wait ?? ((ms) => new Promise((resolve) => setTimeout(resolve, ms))),
  }
  const call =
    (operation: (typeof operations)[number]) =>
    async (input: Fields = {}, options: CallOptions = {}) => {
      const { path, body } = buildRequest(operation, input)
      const keyed = settings.apiKey !== undefined && operation.keyed && body !== undefined
      // A public POST is sent once: without an Idempotency-Key the service cannot recognize a repeated call.
      const safe = keyed || body === undefined
      return send(safe ? transport : { ...transport, retries: 0 }, {
        method: operation.method,
        url: `${base}${path}`,
        headers: {
          accept: 'application/json',
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(settings.apiKey === undefined ? {} : { authorization: `Bearer ${settings.apiKey}` }),
          ...(keyed ? { 'idempotency-key': options.idempotencyKey ?? crypto.randomUUID() } : {}),
        },
        body,
        signal: options.signal,
      })
    }
  const client: Record<string, Record<string, ReturnType<typeof call>>> = {}
  for (const operation of operations) {
    const [module = '', name = ''] = operation.publicId.split('.')
    ;(client[module] ??= {})[camel(name)] = call(operation)
  }
  return { ...client, baseUrl: base } as unknown as Client
}
