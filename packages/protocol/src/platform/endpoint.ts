import type { z } from 'zod'
import type { ErrorCode } from './errors.ts'
import type { Scope } from './ids.ts'

/**
 * Who may call: `public` reads no key; `optional` takes a key but needs none; `bearer` needs one (401);
 * `licensed` needs one and says 403; `order` needs one or a trusted-agent credential; `member` needs the cookie of a
 * person who is signed in (401), and for a write one of our own pages (403); `operator` is on the operators' own
 * listener.
 */
export type Auth = 'public' | 'optional' | 'bearer' | 'licensed' | 'order' | 'member' | 'operator'

/** Holds the login of a person. The prefix ties it to our host, over TLS, for every path. */
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
  /** Query switches of an `optional` row that ask for its licensed tier: with one set to 1 the key is needed (403). */
  readonly licensedQuery?: readonly string[]
  readonly body?: z.ZodType
  readonly response: z.ZodType
  /** Answers besides 200 that are not errors, such as the payment challenge. */
  readonly also?: Readonly<Record<number, z.ZodType>>
  /** Codes of this operation; those of every operation of its kind are added by `errorsOf`. */
  readonly errors?: readonly ErrorCode[]
  /** `echo`: browsers of any site; `any`: `*`; default none: secret keys do not belong in browsers. */
  readonly cors?: 'echo' | 'any'
  readonly limit?: 'register' | 'beacon' | 'tasks' | 'forwards' | 'mail' | 'sessions' | 'telemetry'
  readonly bodyLimitBytes?: number
  /** The body stays text, because a signature is over its very bytes. */
  readonly textBody?: true
  /** The answer shows a secret, so a stored replay of it is encrypted. */
  readonly showsSecret?: true
  /** Answers something other than JSON in some cases, such as CSV. */
  readonly alsoMediaType?: string
  /** Answers this and never JSON, errors aside. */
  readonly mediaType?: string
}

/** Every error code that an endpoint can answer with, its own and those of its kind. */
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
  if (endpoint.scope && endpoint.method !== 'GET')
    codes.add('idempotency_in_progress').add('idempotency_key_reused')
  codes.add('rate_limited').add('overloaded').add('internal_error')
  return [...codes].toSorted()
}

/** Everything about an operation but where it is mounted and who may call it. */
type Operation = Omit<Endpoint, 'id' | 'publicId' | 'method' | 'path' | 'auth' | 'scope'>

/** Keeps the exact types of an operation's schemas and codes. */
export const operation = <const T extends Operation>(shape: T): T => shape
