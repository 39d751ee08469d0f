import { errorCatalogue, type ErrorCode } from '@pohf/protocol'

/** A way for the person to reach the floor of a policy. */
export type StepUpWay = { readonly kind: string; readonly url?: string }
export type Detail = {
  readonly path: string
  readonly code: string
  readonly message: string
  readonly stepUp?: readonly StepUpWay[]
}

export type OrderChallenge = {
  readonly aud: string
  readonly nonce: string
  readonly expiresAt: string
  readonly checkout_jwt: string
}

type RefusalOptions = {
  readonly message?: string
  readonly details?: readonly Detail[]
  readonly buy?: string
  /** Of `auth_required`: what an order takes instead, and the quote that mandates are closed over. */
  readonly order?: { readonly accepts: readonly string[]; readonly challenge?: OrderChallenge }
  readonly headers?: Readonly<Record<string, string>>
  /** The internal error behind a refusal such as `overloaded`: for the log, never for the caller. */
  readonly cause?: unknown
}

/** An error for the caller, with a code of the closed list. Every other error is a 500. */
export class Refusal extends Error {
  readonly code: ErrorCode
  readonly options: RefusalOptions
  constructor(code: ErrorCode, options: RefusalOptions = {}) {
    super(
      options.message ?? errorCatalogue[code].message,
      options.cause === undefined ? undefined : { cause: options.cause },
    )
    this.code = code
    this.options = options
  }
}

/** The body of every error response. */
export const errorBodyOf = (refusal: Refusal, requestId: string, baseUrl: string) => ({
  ok: false as const,
  error: refusal.code,
  message: refusal.message,
  requestId,
  docs: `${baseUrl}/docs/errors/${refusal.code}`,
  retryable: errorCatalogue[refusal.code].retryable,
  ...(refusal.options.details ? { details: refusal.options.details } : {}),
  ...(refusal.options.buy ? { buy: refusal.options.buy } : {}),
})

export const statusOf = (refusal: Refusal): number => errorCatalogue[refusal.code].status
