export type RefundState = 'pending' | 'succeeded' | 'failed'
/** The state of one refund at the provider. `failed` is final. */
export type RefundStateFact = {
  readonly kind: 'refund_state'
  readonly paymentId: string
  readonly providerRefundId: string
  /** Our id, set when we requested it; refunds made in the provider's dashboard have none. */
  readonly refundId: string | undefined
  readonly amountUsdCents: bigint
  readonly state: RefundState
}

export type OwnRefundState = 'wanted' | 'sent' | 'done' | 'failed'

/** After this many failed attempts an operator must act: with the delays below that is about 16 hours. */
export const refundAttemptsMax = 24
/**
 * Backoff of the retries of a refund: 60 s three times, then 80 s, 160 s and so on, an hour at most. It is also how long
 * a claim lasts: an attempt makes requests of at most 13 s each, two of them for a payment with up to 100 refunds.
 */
export const refundRetryDelaySeconds = (attempts: number): number =>
  Math.min(3_600, Math.max(60, 10 * 2 ** Math.min(attempts, 12)))
/** How often a sent refund is polled, in case its event is lost. */
export const refundPollSeconds = 600

const ranks: Readonly<Record<RefundState, number>> = { pending: 0, succeeded: 1, failed: 2 }
/** Events come in any order: the later of two states wins. */
export const mergeRefundState = (known: RefundState | undefined, said: RefundState): RefundState =>
  known !== undefined && ranks[known] >= ranks[said] ? known : said

type OwnRefund = { readonly state: OwnRefundState; readonly providerRefundId: string | null }
/** The next state of our refund after a fact of the provider; undefined where it does not change. */
export const nextOwnState = (
  own: OwnRefund,
  fact: { readonly providerRefundId: string; readonly state: RefundState },
): 'sent' | 'done' | 'failed' | undefined => {
  const isSame = own.providerRefundId === fact.providerRefundId
  // An operator retried it: facts about the earlier refund no longer concern it.
  if (!isSame && (own.providerRefundId !== null || fact.state === 'failed')) return undefined
  if (fact.state === 'failed') return own.state === 'failed' ? undefined : 'failed'
  if (fact.state === 'succeeded') return own.state === 'done' ? undefined : 'done'
  return own.state === 'wanted' || own.state === 'failed' ? 'sent' : undefined
}
