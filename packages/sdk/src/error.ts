type Detail = {
  readonly path: string
  readonly code: string
  readonly message: string
  /** With below_policy and network_busy: the ways in which the person can show a stronger root. */
  readonly stepUp?: readonly { readonly kind: string; readonly url?: string }[]
}
type ErrorBody = {
  readonly error?: string
  readonly message?: string
  readonly requestId?: string
  readonly docs?: string
  readonly retryable?: boolean
  readonly details?: readonly Detail[]
  readonly buy?: string
}

/** The service refused. `code` is stable and has a page at `docs`. */
export class PohfError extends Error {
  override readonly name = 'PohfError'
  readonly status: number
  readonly code: string
  readonly requestId: string | undefined
  readonly docs: string | undefined
  readonly retryable: boolean
  readonly details: readonly Detail[]
  /** Where to buy credits, on 402 insufficient_credits. */
  readonly buy: string | undefined
  /** The whole answer: the payment challenge of the buy endpoint has more than an error. */
  readonly body: unknown

  constructor(status: number, body: unknown) {
    const known = (typeof body === 'object' && body !== null ? body : {}) as ErrorBody
    super(known.message ?? `The service answered ${status} and gave no reason.`)
    this.status = status
    this.code = known.error ?? 'unknown'
    this.requestId = known.requestId
    this.docs = known.docs
    this.retryable = known.retryable ?? status >= 500
    this.details = known.details ?? []
    this.buy = known.buy
    this.body = body
  }
}
