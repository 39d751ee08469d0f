import { networkOf } from '../../payments/index.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { formatAmount, lookUpTransfer } from './payment-chain.ts'
import type { PaymentRef } from './payment-ref.ts'
import { notSettled, type PaymentSettlement } from './payment-settled.ts'

/**
 * The status of a payment at the card provider; `foreign` when its account has no such payment, or no provider is
 * configured.
 */
type CardPaymentStatus =
  | 'foreign'
  | { readonly settled: true; readonly paymentId: string; readonly usdCents: bigint | undefined }
  | { readonly settled: false; readonly code: string; readonly why: string }
export type FindCardPayment = (id: string) => Promise<CardPaymentStatus>

type LookupDeps = { readonly ctx: Ctx; readonly findCardPayment: FindCardPayment }

/** The RPC node of a chain: the one configured for it, else the one that settles purchases. */
const rpcUrlOf = ({ config }: Ctx, chainId: number): string | undefined =>
  config.EVM_RPC_URLS.get(chainId) ??
  (networkOf(config).chainId === chainId ? config.X402_CHAIN_RPC : undefined)

/** A reference to one stablecoin is not proven by a transfer of another. */
const tokensOf = ({ config }: Ctx, { rail }: PaymentRef, chainId: number) =>
  (config.BINDING_TOKENS.get(chainId) ?? []).filter(
    ({ symbol }) => (rail !== 'usdc' && rail !== 'ousd') || symbol === rail,
  )

const lookUpCard = async (find: FindCardPayment, id: string): Promise<PaymentSettlement | undefined> => {
  const found = await find(id)
  if (found === 'foreign') return undefined
  if (!found.settled) throw notSettled(found.code, found.why)
  const identity = `card:stripe:${found.paymentId}`
  return found.usdCents === undefined
    ? { identity }
    : { identity, amount: formatAmount(found.usdCents, 2), currency: 'USD' }
}

/** Looks up a payment where this deployment can; undefined where it cannot. May call the network. */
export const lookUpPayment = async (
  { ctx, findCardPayment }: LookupDeps,
  payment: PaymentRef,
  payee: string | undefined,
): Promise<PaymentSettlement | undefined> => {
  const { target } = payment
  if (target.kind === 'card') return lookUpCard(findCardPayment, target.id)
  if (target.kind !== 'transfer') return undefined
  const url = rpcUrlOf(ctx, target.chainId)
  const tokens = tokensOf(ctx, payment, target.chainId)
  if (url === undefined || tokens.length === 0) return undefined
  return lookUpTransfer(ctx, url, { ...target, payee, tokens })
}
