import type { z } from 'zod'
import type { ErrorCode } from './errors.ts'
import type { Scope } from './ids.ts'

/**
 * Who may call: `public` reads no key; `optional` takes a key but needs none; `bearer` needs one (401);
 * `licensed` needs one (403); `order` needs one or a trusted-agent credential; `member` needs the cookie of a
 * person who is signed in (401), and for a write a page of the service (403); `operator` is on the operators'
 * listener.
 */
export type Auth = 'public' | 'optional' | 'bearer' | 'licensed' | 'order' | 'member' | 'operator'

/** The cookie with a person's login. Its prefix binds it to this host, over TLS, for every path. */
export const memberCookie = '__Host-pohf_me'

export type Endpoint = {
  /** `<module>.<operation>` is the file `packages/server/src/<module>/<operation>.ts`. */
  readonly id: string
  /** The row's name in OpenAPI, the manifest, the SDK, metrics and logs. Never renamed, unique in its listener. */
  readonly publicId: string
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly summary: string
  readonly auth: Auth
  readonly scope?: Scope
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
  readonly limit?: 'register' | 'beacon' | 'tasks' | 'forwards' | 'mail' | 'sessions' | 'telemetry'
  readonly bodyLimitBytes?: number
  /** The body stays text, because its bytes are signed. */
  readonly textBody?: true
  /** The response contains a secret, so its stored replay is encrypted. */
  readonly showsSecret?: true
  /** A further media type of the response, such as CSV. */
  readonly alsoMediaType?: string
  /** The only media type of the response; errors are JSON. */
  readonly mediaType?: string
}

/** Every error code that an endpoint can return, its own and those of its kind. */
export const errorsOf = (endpoint: Endpoint): ErrorCode[] => {
  const codes = new Set<ErrorCode>(endpoint.errors ?? [])
  const hasInput = endpoint.params ?? endpoint.query ?? endpoint.body
  if (hasInput) codes.add('validation_failed')
  if (endpoint.method !== 'GET') {
    codes.add('invalid_json').add('body_too_large').add('unsupported_media_type')
  }
  if (endpoint.auth === 'bearer' || endpoint.auth === 'order' || endpoint.auth === 'operator') {
    codes.add('malformed_api_key').add('invalid_api_key')
    codes.add(endpoint.auth === 'order' ? 'auth_required' : 'missing_api_key')
  }
  if (endpoint.auth === 'optional') codes.add('malformed_api_key').add('invalid_api_key')
  if (endpoint.auth === 'licensed') codes.add('license_required')
  if (endpoint.auth === 'member') codes.add('sign_in_required')
  if (endpoint.scope || (endpoint.auth === 'member' && endpoint.method !== 'GET')) codes.add('forbidden')
  const hasCaller = endpoint.scope || endpoint.auth === 'operator' || endpoint.auth === 'member'
  if (hasCaller && endpoint.method !== 'GET')
    codes.add('idempotency_in_progress').add('idempotency_key_reused')
  codes.add('rate_limited').add('overloaded').add('internal_error')
  return [...codes].toSorted()
}

/** An operation without its path and access. */
type Operation = Omit<Endpoint, 'id' | 'publicId' | 'method' | 'path' | 'auth' | 'scope'>

/** Keeps the exact types of an operation's schemas and codes. */
export const operation = <const T extends Operation>(shape: T): T => shape
