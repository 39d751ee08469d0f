export type RefundState = 'pending' | 'succeeded' | 'failed'
/** How one refund stands. Only one that failed never counts again. */
export type RefundStateFact = {
  readonly kind: 'refund_state'
  readonly paymentId: string
  readonly providerRefundId: string
  /** What we named it when we asked for it; those of the dashboard have none of ours. */
  readonly refundId: string | undefined
  readonly amountUsdCents: bigint
  readonly state: RefundState
}

export type OwnRefundState = 'wanted' | 'sent' | 'done' | 'failed'

/** After this many tries in vain an operator must look: with the waits below that is about 16 hours. */
export const refundAttemptsMax = 24
/** 10 s, 20 s, 40 s and so on, an hour at most. */
export const refundRetryDelaySeconds = (attempts: number): number =>
  Math.min(3_600, 10 * 2 ** Math.min(attempts, 12))
/** A refund that is under way is looked at this often, should its message be lost. */
export const refundPollSeconds = 600

const ranks: Readonly<Record<RefundState, number>> = { pending: 0, succeeded: 1, failed: 2 }
/** Messages come in any order: the later of two states stands. */
export const mergeRefundState = (known: RefundState | undefined, said: RefundState): RefundState =>
  known !== undefined && ranks[known] >= ranks[said] ? known : said

type OwnRefund = { readonly state: OwnRefundState; readonly providerRefundId: string | null }
/** Where one of our own goes by what the provider says of it; undefined where it stays. */
export const nextOwnState = (
  own: OwnRefund,
  fact: { readonly providerRefundId: string; readonly state: RefundState },
): 'sent' | 'done' | 'failed' | undefined => {
  const isSame = own.providerRefundId === fact.providerRefundId
  // An operator had it tried again: what is said of the one before no longer concerns it.
  if (!isSame && (own.providerRefundId !== null || fact.state === 'failed')) return undefined
  if (fact.state === 'failed') return own.state === 'failed' ? undefined : 'failed'
  if (fact.state === 'succeeded') return own.state === 'done' ? undefined : 'done'
  return own.state === 'wanted' || own.state === 'failed' ? 'sent' : undefined
}
