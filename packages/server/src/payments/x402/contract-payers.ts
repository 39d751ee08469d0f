import type { Hex } from 'viem'
import type { Tx } from '../../platform/db/db.ts'
import type { Chain, Fees } from './chain.ts'
import { findContractPayer, lockContractPayers, type PaymentKey } from './store.ts'

// A payer with code runs that code in the transaction that we pay for. It can tell a simulation from a block, or change its
// code in between, so no simulation proves that it pays. What it can cost is limited instead: one pending payment for each
// payer, no further payment after a failed one, and a budget of gas for all of them together.

/** The transaction of a payer with code: the account that was simulated sends it, with little more gas than it needed. */
export type ContractCall = { readonly sender: Hex; readonly gasLimit: bigint }
export type CheckResult =
  { readonly reason: string } | { readonly reason: undefined; readonly contract: ContractCall | undefined }

/** A transfer takes 68,000 to 90,000; the signature check of a contract wallet may take the rest. */
const gasMax = 500_000n
/** A block may differ a little from the simulation: the first balance of an address costs 20,000 more. */
const withMargin = (gas: bigint): bigint => {
  const limit = gas + gas / 5n
  return limit < gasMax ? limit : gasMax
}

/** Simulates the call as its sender will send it: the code of the payer sees the same origin and fees. */
export const simulateContractCall = async (
  chain: Chain,
  data: Hex,
  from: { readonly sender: Hex; readonly fees: Fees | undefined },
): Promise<CheckResult> => {
  const { sender, fees } = from
  const estimated = await chain.estimate(data, { from: sender, gasMax, fees })
  return 'reason' in estimated
    ? estimated
    : { reason: undefined, contract: { sender, gasLimit: withMargin(estimated.gas) } }
}

/** How long a payer with code is refused after a failed payment. */
export const refusedDays = 30

export type ContractPayerCheck = 'accepted' | 'payer_refused' | 'payer_pending' | 'budget_used'

/**
 * Whether a claimed payment of a payer with code may be sent. Called in the transaction that claims it, and holds a lock
 * until its end: two payments never both take the last of the budget. A pending payment counts with its gas limit, a failed
 * one with the gas that it used, a settled one not at all.
 */
export const checkContractPayer = async (
  tx: Tx,
  payment: PaymentKey,
  gasPerDay: bigint,
): Promise<ContractPayerCheck> => {
  await lockContractPayers(tx)
  const { isRefused, isPending, gasAtRisk } = await findContractPayer(tx, payment, refusedDays)
  if (isRefused) return 'payer_refused'
  if (isPending) return 'payer_pending'
  return gasAtRisk > gasPerDay ? 'budget_used' : 'accepted'
}
