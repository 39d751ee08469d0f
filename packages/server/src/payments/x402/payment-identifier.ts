import type { Payment } from './parse.ts'
import type { Tx } from '../../platform/db/db.ts'
import { beginIdempotent, releaseIdempotent, storeIdempotent } from '../../platform/db/idempotency.ts'
import { unlessUnavailable } from '../../platform/db/unless-unavailable.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { Ctx } from '../../platform/ops/context.ts'

/** Stores, with the purchase, that the identifier belongs to its payment. */
export type StoreIdentifier = (tx: Tx) => Promise<void>

type IdentifiedPayment = {
  readonly payment: Pick<Payment, 'identifier' | 'authorization'>
  /** What is paid for: a workflow or a question. */
  readonly subject: string
}

const conflictMessages: Readonly<Record<string, string>> = {
  idempotency_key_reused: 'The payment identifier was sent with another payment. Nothing was charged.',
  idempotency_in_progress:
    'A payment with this identifier is in progress. Nothing was charged for this one: ask again later.',
}
/** Turns a refusal of the idempotency key into a refusal of the purchase. */
const asPurchaseRefusal = (error: unknown): unknown => {
  const message = error instanceof Refusal ? conflictMessages[error.code] : undefined
  return message === undefined ? error : new Refusal('purchase_conflict', { message })
}

/** Any other payment or task under the same identifier has another fingerprint. */
const claimIdentifier = async (ctx: Ctx, { payment, subject }: IdentifiedPayment, identifier: string) => {
  const { from, nonce } = payment.authorization
  // A stranger can hold an identifier of a contract wallet only until the chain refuses the signature.
  const scope = {
    agentId: 'system',
    method: 'GET',
    path: 'payment-identifier',
    key: `${from} ${identifier}`,
  } as const
  const body = { nonce, workflowId: subject }
  return beginIdempotent(ctx, scope, { body, secret: '', subject: undefined })
}

/**
 * Settles a payment for its identifier (extension payment-identifier of x402): another payment of this payer with the
 * same identifier is refused for a day. A payment that was refused before anything was sent releases its identifier.
 */
export const withIdentifier = async <T>(
  ctx: Ctx,
  attempt: IdentifiedPayment,
  settle: (storeIdentifier: StoreIdentifier) => Promise<T>,
): Promise<T> => {
  const { identifier } = attempt.payment
  if (identifier === undefined) return settle(async () => undefined)
  try {
    const begun = await claimIdentifier(ctx, attempt, identifier)
    if ('stored' in begun) return await settle(async () => undefined)
    const { claim } = begun
    try {
      return await settle((tx) => storeIdempotent(tx, claim, { status: 200, body: '{}' }))
    } catch (error) {
      await unlessUnavailable(releaseIdempotent(ctx, claim))
      throw error
    }
  } catch (error) {
    throw asPurchaseRefusal(error)
  }
}
