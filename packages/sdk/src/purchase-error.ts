/** Why a purchase did not end with a credential. */
export type PurchaseErrorCode =
  /** The challenge cannot be read. */
  | 'challenge_malformed'
  /** The price is above the cap of the buyer. */
  | 'price_above_cap'
  /** Nothing on offer is on a network, in a token and to a recipient that the buyer allows. */
  | 'terms_refused'
  /** The wallet did not sign. */
  | 'not_signed'
  /** The service refused: `cause` is its PohfError. */
  | 'refused'
  /** The service knows no payment under this purchase id. */
  | 'not_found'
  /** The chain proves that the payment was never made and never will be. */
  | 'void'
  /** Paid, not deliverable, and refunded or about to be. */
  | 'refunded'
  /** Not known yet. Call `resume` with the purchase id; never buy again before that. */
  | 'open'
  /** Delivered, but the credential does not verify: `cause` is what was delivered. */
  | 'credential_refused'

/** A purchase that did not end well. `charged` says what is known about the money. */
export class PurchaseError extends Error {
  override readonly name = 'PurchaseError'
  readonly code: PurchaseErrorCode
  readonly charged: 'no' | 'yes' | 'unknown'
  readonly purchaseId: string | undefined

  constructor(
    code: PurchaseErrorCode,
    message: string,
    known: {
      readonly charged?: 'no' | 'yes' | 'unknown'
      readonly purchaseId?: string | undefined
      readonly cause?: unknown
    } = {},
  ) {
    super(message, known.cause === undefined ? undefined : { cause: known.cause })
    this.code = code
    this.charged = known.charged ?? 'no'
    this.purchaseId = known.purchaseId
  }
}
