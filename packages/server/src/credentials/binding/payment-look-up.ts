import { networkOf } from '../../payments/index.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import type { AgentId } from '../../platform/ops/ids.ts'
import { formatAmount, lookUpTransfer } from './payment-chain.ts'
import type { PaymentRef } from './payment-ref.ts'
import { notSettled, type PaymentSettlement } from './payment-settled.ts'

/**
 * The status of a payment of the agent at the card provider; `foreign` when there is no such payment, when it was not
 * made through a checkout of the agent, or when no provider is configured.
 */
type CardPaymentStatus =
  | 'foreign'
  | { readonly settled: true; readonly paymentId: string; readonly usdCents: bigint | undefined }
  | { readonly settled: false; readonly code: string; readonly why: string }
export type FindCardPayment = (agentId: AgentId, id: string) => Promise<CardPaymentStatus>

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

const lookUpCard = async (find: () => Promise<CardPaymentStatus>): Promise<PaymentSettlement | undefined> => {
  const found = await find()
  if (found === 'foreign') return undefined
  if (!found.settled) throw notSettled(found.code, found.why)
  // The agent opened the checkout, so what was paid there was paid for it.
  const settled = { identity: `card:stripe:${found.paymentId}`, isPayerProven: true }
  return found.usdCents === undefined
    ? settled
    : { ...settled, amount: formatAmount(found.usdCents, 2), currency: 'USD' }
}

type LookupRequest = {
  readonly agentId: AgentId
  readonly payment: PaymentRef
  readonly payee: string | undefined
  /** The proven wallet of the payer. */
  readonly payer: string | undefined
}

/** Looks up a payment where this deployment can; undefined where it cannot. May call the network. */
export const lookUpPayment = async (
  { ctx, findCardPayment }: LookupDeps,
  { agentId, payment, payee, payer }: LookupRequest,
): Promise<PaymentSettlement | undefined> => {
  const { target } = payment
  if (target.kind === 'card') return lookUpCard(() => findCardPayment(agentId, target.id))
  if (target.kind !== 'transfer') return undefined
  const url = rpcUrlOf(ctx, target.chainId)
  const tokens = tokensOf(ctx, payment, target.chainId)
  if (url === undefined || tokens.length === 0) return undefined
  return lookUpTransfer(ctx, url, { ...target, payee, payer, tokens })
}
