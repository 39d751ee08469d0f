import type { Mode } from '@pohf/protocol'

export type Unit = 'credit' | 'star' | 'usd_cent' | 'usdc_micro'

/** One account of an agent's book. The unit is part of it: credits and Stars never mix. */
export type Account = {
  readonly agentId: string
  readonly mode: Mode
  readonly account: string
  readonly unit: Unit
}
export type Line = { readonly account: string; readonly unit: Unit; readonly amount: bigint }

/** What happened, once: `kind` and `reference` are its name for ever. */
export type Claim = {
  readonly agentId: string
  readonly mode: Mode
  readonly kind: string
  readonly reference: string
}
export type Entry = Claim & { readonly lines: readonly Line[] }

export type PostedLine = Line & { readonly balanceAfter: bigint }
export type Posting = {
  readonly entryId: string
  /** The reference was posted before: nothing moved now, and the lines are those of then. */
  readonly repeated: boolean
  readonly lines: readonly PostedLine[]
}

/** An account cannot give so much. Nothing was written and the transaction lives on. */
export class InsufficientBalance extends Error {
  readonly account: string
  readonly balance: bigint
  constructor(account: string, balance: bigint) {
    super(`the account ${account} cannot give so much`)
    this.account = account
    this.balance = balance
  }
}

/** The balance of an account after the entry; an entry that does not touch it is a mistake of the caller. */
export const balanceAfter = (posting: Posting, account: string): bigint => {
  const line = posting.lines.find((candidate) => candidate.account === account)
  if (!line) throw new Error(`the entry has no line for ${account}`)
  return line.balanceAfter
}
