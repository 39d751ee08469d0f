import type {
  AccountRole,
  ErrorCode,
  additions,
  operatorEndpoints,
  specification,
  CredentialPolicy,
  Mode,
  Scope,
} from '@pohf/protocol'
import type { z } from 'zod'
import type { Tx } from '../db/db.ts'
import type { AgentId } from '../ops/ids.ts'
import type { ClientAddress } from './client-address.ts'

/** A caller with an API key. `mode` comes from the key alone. */
export type Agent = {
  readonly agentId: AgentId
  readonly mode: Mode
  readonly keyId: string
  readonly scopes: readonly Scope[]
  readonly ratePerMinute: number | null
  /** The floors of its credentials, by kind. */
  readonly policy: CredentialPolicy
  /**
   * Set for a bearer token of the console: what the signed-in person may do. Its `keyId` is `console`, because colleagues
   * read it in the list of requests.
   */
  readonly console?: ConsoleRights
  /** Set for an agent without a key: the credential that it orders by. Its `keyId` is the kind of that credential. */
  readonly keyless?: KeylessCredential
  /** Set for a bearer token of one order: the only order that it may fund. */
  readonly onlyOrder?: string
}
/** A trusted-agent credential in place of a key. It orders once, or as often as it says. */
export type KeylessCredential = {
  readonly kind: 'http-message-signature' | 'verifiable-intent'
  readonly bodyBound: boolean
  /** Uses it, in the transaction of the order; refuses where it was used, or does not cover this order. */
  readonly use: (
    tx: Tx,
    order: { readonly taskType: string; readonly quantity: number; readonly totalUsdCents: bigint },
  ) => Promise<void>
  /** Signs the token that funds this order. */
  readonly signOrderToken: (orderId: string) => Promise<string>
}
/** The headers of a request, with names in lower case. */
export type RequestHeaders = Readonly<Record<string, string | string[] | undefined>>
/** A request without a key, as the check of its credential sees it. */
export type KeylessRequest = {
  readonly method: string
  readonly url: string
  readonly headers: RequestHeaders
  /** The body as it was sent, and as it was parsed. */
  readonly bodyText: string
  readonly body: unknown
  readonly address: ClientAddress
}
/** Finds the agent of a trusted-agent credential. The wiring provides it. */
export type AuthenticateKeyless = {
  /** Refuses at once a request that is refused whatever its body holds, so that the body is not read. */
  readonly precheck: (headers: RequestHeaders) => Promise<void>
  readonly authenticate: (request: KeylessRequest) => Promise<Agent>
}
/** `isRecent`: the person signed in within the last hour. */
export type ConsoleRights = {
  readonly personId: string
  readonly role: AccountRole
  readonly isRecent: boolean
  readonly signedInBy: 'link' | 'passkey'
}
/** Writes one entry into the operators' audit log, in the transaction of the action. */
export type Audit = (
  tx: Tx,
  entry: {
    readonly operatorId: string
    readonly action: string
    readonly target: string
    readonly details: Readonly<Record<string, unknown>>
  },
) => Promise<void>

/**
 * Stores the result of an operation under the Idempotency-Key of its call, in the operation's own transaction: a crash
 * after the commit loses neither. Without a key it stores nothing. Returns the result.
 */
export type StoreResult = <T>(tx: Tx, result: T) => Promise<T>

/** A person who is signed in in the calling browser. */
export type Person = { readonly personId: string }
/** The parts of a request that identify the signed-in person, and whether one of our pages sent it. */
export type Browser = {
  readonly cookie: string | undefined
  readonly origin: string | undefined
  readonly writes: boolean
}

/** A person of an account who is signed in to the console in the calling browser. */
export type AccountPerson = ConsoleRights & {
  readonly sessionId: string
  readonly accountId: string
  readonly email: string
}
/** The parts of a request that identify the person, and whether a page of the console or of the operators sent it. */
export type ConsoleRequest = {
  readonly method: string
  readonly cookie: string | undefined
  readonly origin: string | undefined
  /** `Sec-Fetch-Site`, which a page cannot set. */
  readonly fetchSite: string | undefined
  readonly contentType: string | undefined
}

export type Operator = {
  readonly operatorId: string
  readonly name: string
  /** The operator who created this operator over the listener; undefined for one that was created on the machine. */
  readonly madeBy?: string | undefined
  /** Of a bearer: the session of its operator. A key has none. */
  readonly session?: OperatorSession
}
/** `isRecent`: the operator used a passkey within the last 15 minutes. */
type OperatorSession = { readonly sessionId: string; readonly isRecent: boolean }

type Row = (typeof specification)[number] | (typeof additions)[number] | (typeof operatorEndpoints)[number]
export type EndpointId = Row['id']
type RowOf<Id extends EndpointId> = Extract<Row, { id: Id }>

type Parsed<R, Part extends string> = R extends Record<Part, z.ZodType> ? z.output<R[Part]> : undefined
type CallerOf<R> = R extends { auth: 'bearer' | 'licensed' | 'order' | 'secret' }
  ? Agent
  : R extends { auth: 'optional' }
    ? Agent | undefined
    : undefined

/** One request, parsed and authenticated, as an operation sees it. */
export type Call<Id extends EndpointId> = {
  readonly body: Parsed<RowOf<Id>, 'body'>
  readonly query: Parsed<RowOf<Id>, 'query'>
  readonly params: Parsed<RowOf<Id>, 'params'>
  readonly agent: CallerOf<RowOf<Id>>
  readonly operator: RowOf<Id> extends { auth: 'operator' | 'operatorSession' } ? Operator : undefined
  readonly person: RowOf<Id> extends { auth: 'member' } ? Person : undefined
  readonly accountPerson: RowOf<Id> extends { auth: 'console' } ? AccountPerson : undefined
  /** The body before parsing, for operations that take any JSON. */
  readonly rawBody: unknown
  readonly requestId: string
  readonly address: ClientAddress
  readonly idempotencyKey: string | undefined
  /** Stores the result under the Idempotency-Key in the transaction that moves the value, and returns it. */
  readonly storeResult: StoreResult
  header(name: string): string | undefined
}

export type ResultOf<Id extends EndpointId> = z.input<RowOf<Id>['response']>

/** The bodies of responses other than 200 that are no errors, such as the payment challenge. */
type AlternateBodyOf<Id extends EndpointId> =
  RowOf<Id> extends { also: infer Schemas extends Record<number, z.ZodType> }
    ? z.input<Schemas[keyof Schemas]>
    : never

/** A response that is more than a 200 with a JSON body. */
export class ApiResponse<T> {
  readonly body: T
  readonly options: {
    readonly status?: number
    readonly headers?: Readonly<Record<string, string>>
    /** Sent as it is, in place of the JSON body. */
    readonly raw?: { readonly mediaType: string; readonly text: string }
    /** Sent as it is, in chunks, for bodies too large for memory: each chunk is made when the one before was sent. */
    readonly stream?: { readonly mediaType: string; readonly pieces: AsyncIterable<string | Uint8Array> }
  }
  constructor(body: T, options: ApiResponse<T>['options'] = {}) {
    this.body = body
    this.options = options
  }
}

export type Handler = (call: Call<EndpointId>) => Promise<unknown>
export type Route = { readonly id: EndpointId; readonly handler: Handler }

/** Binds an operation to its row of the endpoint table; the compiler checks both sides. */
export const route = <Id extends EndpointId>(
  id: Id,
  handler: (
    call: Call<Id>,
  ) => Promise<
    ResultOf<Id> | ApiResponse<ResultOf<Id>> | ApiResponse<AlternateBodyOf<Id>> | ApiResponse<undefined>
  >,
): Route => ({ id, handler: handler as unknown as Handler })

/** A page for people: a path outside the API that returns text. */
export type Page = {
  readonly path: string
  readonly handler: (request: {
    readonly params: Record<string, string>
    readonly query: Record<string, string>
    header(name: string): string | undefined
  }) => Promise<PageResponse>
}
/** A content encoding of HTTP. */
export type Encoding = 'br' | 'gzip'
export type PageResponse = {
  readonly status?: number
  readonly mediaType: string
  readonly text: string
  /** Sent in place of the text: a picture. */
  readonly bytes?: Buffer
  readonly headers?: Readonly<Record<string, string>>
  /** The text in an encoding, of a static page. */
  readonly compressedBy?: (encoding: Encoding) => Promise<Buffer>
}
/** Renders an error as a page for people. */
export type ErrorPage = (error: {
  readonly status: number
  readonly code: ErrorCode
  readonly requestId: string
  readonly acceptLanguage: string | undefined
}) => PageResponse
