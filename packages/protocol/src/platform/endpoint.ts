import type { z } from 'zod'
import type { ErrorCode } from './errors.ts'
import type { Scope } from './ids.ts'

/**
 * Who may call: `public` reads no key; `optional` takes a key but needs none; `bearer` needs one (401); `licensed` needs one
 * (403); `order` needs one or a trusted-agent credential; `member` needs the cookie of a person who is signed in (401), and for
 * a write a page of the service (403); `console` the same with the cookie of a person of an account, which no other row reads;
 * `operator` is on the operators' listener and needs an operator's key or the bearer of one who signed in (401);
 * `operatorSession` needs the cookie of that sign-in, which no other row reads; `secret` needs a key in the field `secret` of
 * the body, which may be a form, and answers every refusal but those of `secretErrors` with 200 and `error-codes`, as clients
 * of other services expect; `directory` needs the bearer token of the directory of an issuer, which the operation compares (401).
 */
export type Auth =
  | 'public'
  | 'optional'
  | 'bearer'
  | 'licensed'
  | 'order'
  | 'member'
  | 'console'
  | 'operator'
  | 'operatorSession'
  | 'secret'
  | 'directory'

/** The refusals of a `secret` row that keep their status and our shape: the limits that apply whatever the body says. */
export const secretErrors = ['body_too_large', 'rate_limited'] as const satisfies readonly ErrorCode[]

/** The cookie with a person's login. Its prefix binds it to this host, over TLS, for every path. */
export const memberCookie = '__Host-pohf_me'
/** The cookie with a person's session in the console; only rows of `console` read it. */
export const consoleCookie = '__Host-pohf_console'
/** The cookie by which a mailed link works only in the browser that asked for it. */
export const consoleBrowserCookie = '__Host-pohf_browser'
/** The cookie with the session of an operator; only rows of `operatorSession` read it. */
export const operatorCookie = '__Host-pohf_operator'
/** The cookie by which a challenge works only in the browser in which an operator began to sign in. */
export const operatorBrowserCookie = '__Host-pohf_operator_browser'

/** The longest body of a row that has no `bodyLimitBytes`. */
export const usualBodyLimitBytes = 262_144

export type Endpoint = {
  /** `<module>.<operation>` is the file `packages/server/src/<module>/<operation>.ts`. */
  readonly id: string
  /** The row's name in OpenAPI, the manifest, the SDK, metrics and logs. Never renamed, unique in its listener. */
  readonly publicId: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly summary: string
  readonly auth: Auth
  readonly scope?: Scope
  /** In live mode a console token needs the role owner and a recent sign-in: keys and billing. */
  readonly ownerInLive?: true
  /**
   * A console token, in both modes, or an operator's token needs a recent sign-in: what the call does outlasts the session
   * or moves money. Keys are exempt.
   */
  readonly needsRecentSignIn?: true
  /**
   * Needs a console token whose person is an owner, signed in recently, in live mode with a passkey. No API key
   * can do it, whatever its scopes: an agent must not choose who approves its actions.
   */
  readonly administratorOnly?: true
  /** A `GET` that changes something, so that a viewer of the console may not call it. */
  readonly writes?: true
  readonly params?: z.ZodObject
  readonly query?: z.ZodObject
  /** Query switches of an `optional` row that request its licensed tier: with one set to 1 the key is required (403). */
  readonly licensedQuery?: readonly string[]
  readonly body?: z.ZodType
  readonly response: z.ZodType
  /** Responses besides 200 that are not errors, such as the payment challenge. */
  readonly also?: Readonly<Record<number, z.ZodType>>
  /** Codes of this operation; those of every operation of its kind are added by `errorsOf`. */
  readonly errors?: readonly ErrorCode[]
  /** `echo`: browsers of any site; `any`: `*`; default none: secret keys do not belong in browsers. */
  readonly cors?: 'echo' | 'any'
  /** Headers beyond Content-Type that pages of other sites may send, and response headers that they may read. */
  readonly corsHeaders?: { readonly allow: readonly string[]; readonly expose: readonly string[] }
  readonly limit?:
    'register' | 'beacon' | 'tasks' | 'directory' | 'forwards' | 'mail' | 'sessions' | 'telemetry' | 'console'
  readonly bodyLimitBytes?: number
  /**
   * A body with the same key twice in one object, or with a number that JSON.parse would round, is refused: another parser could
   * read another value than ours.
   */
  readonly exactJson?: true
  /** The body stays text, because its bytes are signed. */
  readonly textBody?: true
  /** Also takes the token that an order without a key returned, for that order alone. */
  readonly takesOrderToken?: true
  /** The response contains a secret, so its stored replay is encrypted. */
  readonly showsSecret?: true
  /** A write that also works while the database is from the past and every other write answers `restore_pending`. */
  readonly duringRestore?: true
  /** Has a document of its own that says how to get access (RFC 9728); the others share that of the API. */
  readonly isProtectedResource?: true
  /** A further media type of the response, such as CSV. */
  readonly alsoMediaType?: string
  /** The only media type of the response; errors are JSON. */
  readonly mediaType?: string
}

/** Whether an endpoint takes payments over HTTP 402. It ignores an Idempotency-Key: the payment itself is one. */
export const takesPayment = ({ also }: Pick<Endpoint, 'also'>): boolean => also?.[402] !== undefined

/** Every error code that an endpoint can return, its own and those of its kind. */
export const errorsOf = (endpoint: Endpoint): ErrorCode[] => {
  if (endpoint.auth === 'secret') return [...secretErrors]
  const codes = new Set<ErrorCode>(endpoint.errors ?? [])
  const hasInput = endpoint.params ?? endpoint.query ?? endpoint.body
  if (hasInput) codes.add('validation_failed')
  if (endpoint.method !== 'GET') {
    codes.add('invalid_json').add('body_too_large').add('unsupported_media_type')
    if (!endpoint.duringRestore) codes.add('restore_pending')
  }
  if (endpoint.auth === 'bearer' || endpoint.auth === 'order' || endpoint.auth === 'operator') {
    codes.add('malformed_api_key').add('invalid_api_key')
    codes.add(endpoint.auth === 'order' ? 'auth_required' : 'missing_api_key')
    if (endpoint.auth === 'order')
      codes
        .add('untrusted_agent')
        .add('agent_signature_invalid')
        .add('mandate_invalid')
        .add('agent_keys_unreachable')
  }
  if (endpoint.auth === 'directory') codes.add('invalid_api_key')
  if (endpoint.auth === 'optional') codes.add('malformed_api_key').add('invalid_api_key')
  if (endpoint.auth === 'licensed') codes.add('license_required')
  const isForPerson =
    endpoint.auth === 'member' || endpoint.auth === 'console' || endpoint.auth === 'operatorSession'
  if (isForPerson) codes.add('sign_in_required')
  if (endpoint.scope || (isForPerson && endpoint.method !== 'GET')) codes.add('forbidden')
  if (endpoint.auth === 'console') codes.add('forbidden')
  if (endpoint.administratorOnly) codes.add('forbidden').add('sign_in_again')
  if (endpoint.ownerInLive || endpoint.needsRecentSignIn)
    codes.add(endpoint.auth === 'operator' ? 'operator_sign_in_again' : 'sign_in_again')
  const hasCaller =
    endpoint.scope || endpoint.administratorOnly || endpoint.auth === 'operator' || endpoint.auth === 'member'
  if (hasCaller && endpoint.method !== 'GET' && !takesPayment(endpoint))
    codes.add('idempotency_in_progress').add('idempotency_key_reused')
  codes.add('rate_limited').add('overloaded').add('internal_error')
  return [...codes].toSorted()
}

/** An operation without its path and access. */
type Operation = Omit<
  Endpoint,
  | 'id'
  | 'publicId'
  | 'method'
  | 'path'
  | 'auth'
  | 'scope'
  | 'ownerInLive'
  | 'needsRecentSignIn'
  | 'administratorOnly'
>

/** Keeps the exact types of an operation's schemas and codes. */
export const operation = <const T extends Operation>(shape: T): T => shape
