import type { Mode } from '@pohf/protocol'
import { InsufficientBalance, post, type Line } from '../ledger/index.ts'
import type { Tx } from '../platform/db/db.ts'
import { limitReached } from './points-convert.ts'
import { conversionLines } from './rules.ts'

type Funding = {
  readonly agentId: string
  readonly mode: Mode
  /** Where the Stars go, or come from. */
  readonly account: string
  readonly stars: bigint
  readonly reference: string
}

const postFunding = async (tx: Tx, kind: string, funding: Funding, lines: readonly Line[]): Promise<void> => {
  const { agentId, mode, reference } = funding
  try {
    await post(tx, { agentId, mode, kind, reference, lines })
  } catch (error) {
    if (error instanceof InsufficientBalance) throw limitReached(error.balance)
    throw error
  }
}

/** Posts Stars to an account of the agent. The agent owes them like converted points, in live mode within its limit. */
export const fundStars = (tx: Tx, funding: Funding): Promise<void> =>
  postFunding(tx, 'stars_funded', funding, conversionLines(funding.mode, funding.account, funding.stars))

/** Returns unspent Stars: the agent owes less and may convert more. */
export const returnStars = (tx: Tx, funding: Funding): Promise<void> =>
  postFunding(tx, 'stars_returned', funding, conversionLines(funding.mode, funding.account, -funding.stars))
