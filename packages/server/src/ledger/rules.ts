import type { Mode } from '@pohf/protocol'

export type Unit = 'credit' | 'star' | 'usd_cent' | 'usdc_micro'

/** An account of an agent. The unit is part of the key: credits and Stars never mix. */
export type Account = {
  readonly agentId: string
  readonly mode: Mode
  readonly account: string
  readonly unit: Unit
}
export type Line = { readonly account: string; readonly unit: Unit; readonly amount: bigint }

/** Identifies an entry for ever: one (agent, mode, kind, reference) posts once. */
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
  /** The reference was posted before: nothing moved now, and the lines are those of the first entry. */
  readonly repeated: boolean
  readonly lines: readonly PostedLine[]
}

/** An account has an insufficient balance. Nothing was written and the transaction can continue. */
export class InsufficientBalance extends Error {
  readonly account: string
  readonly balance: bigint
  constructor(account: string, balance: bigint) {
    super(`account ${account} has an insufficient balance of ${balance}`)
    this.account = account
    this.balance = balance
  }
}

/** The balance of an account after the entry; the entry must have a line for it. */
export const balanceAfter = (posting: Posting, account: string): bigint => {
  const line = posting.lines.find((candidate) => candidate.account === account)
  if (!line) throw new Error(`entry ${posting.entryId} has no line for account ${account}`)
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
  /** Line numbers have no gaps and every balance follows from the previous line. */
  readonly chained: boolean
  readonly lastAt: Date
}

/** A difference in the ledger. While it is open, its agent cannot mint. */
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
/** The drift of an agent's accounts that do not sum to zero. */
export const driftOfTotal = (total: LedgerTotal): Drift => ({
  agentId: total.agentId,
  mode: total.mode,
  finding: 'book_uneven',
  subject: total.unit,
  detail: `the accounts sum to ${total.sum}, expected 0`,
})
