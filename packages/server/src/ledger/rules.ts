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

/** An account has an insufficient balance. Nothing was written and the transaction lives on. */
export class InsufficientBalance extends Error {
  readonly account: string
  readonly balance: bigint
  constructor(account: string, balance: bigint) {
    super(`the account ${account} has an insufficient balance`)
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

/** An account against its lines, from where it was last checked. */
export type AccountCheck = {
  readonly agentId: string
  readonly mode: Mode
  readonly account: string
  readonly unit: string
  readonly balance: bigint
  readonly lineCount: bigint
  readonly checkedLine: bigint
  readonly checkedBalance: bigint
  readonly lines: number
  readonly total: bigint
  /** Each line has the number after the one before it, and the balance that follows from it. */
  readonly chained: boolean
  readonly lastAt: Date
}

/** Something in the books that does not add up. While it is open, its agent mints nothing. */
export type Drift = {
  readonly agentId: string
  readonly mode: Mode
  readonly finding: string
  readonly subject: string
  readonly detail: string
}

/** What is wrong with an account, or undefined. */
export const driftOfAccount = (check: AccountCheck): Drift | undefined => {
  const { agentId, mode, account, unit } = check
  const drift = (finding: string, detail: string): Drift => ({
    agentId,
    mode,
    finding,
    subject: `${account} ${unit}`,
    detail,
  })
  const counted = check.checkedLine + BigInt(check.lines)
  if (counted !== check.lineCount)
    return drift('lines_missing', `the account counts ${check.lineCount} lines, and there are ${counted}`)
  if (!check.chained) return drift('chain_broken', 'a line does not follow from the one before it')
  const sum = check.checkedBalance + check.total
  if (sum !== check.balance)
    return drift('balance_differs', `the balance is ${check.balance}, and the lines sum to ${sum}`)
  return undefined
}

export type LedgerTotal = {
  readonly agentId: string
  readonly mode: Mode
  readonly unit: string
  readonly sum: bigint
}
/** The drift of a book that does not sum to zero. */
export const driftOfTotal = (book: LedgerTotal): Drift => ({
  agentId: book.agentId,
  mode: book.mode,
  finding: 'book_uneven',
  subject: book.unit,
  detail: `all accounts together hold ${book.sum}, and should hold nothing`,
})
