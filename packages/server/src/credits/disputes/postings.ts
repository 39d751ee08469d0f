import type { Mode } from '@pohf/protocol'
import { listEntriesOfKind, type PostedEntry } from '../../ledger/index.ts'
import type { Tx } from '../../platform/db/db.ts'
import { accounts } from '../rules.ts'
import type { CreditPosting } from './payers.ts'

/** The kinds of entries that change credits, besides spending. */
const postingKinds = ['purchase', 'credit_grant', 'purchase_reversal'] as const
type PostingKind = (typeof postingKinds)[number]
type Entry = PostedEntry & { readonly kind: PostingKind }

const pageSize = 500
/** Packs, grants and reversals of one agent. */
const postingsMax = 50_000

type AgentLedger = { readonly agentId: string; readonly mode: Mode }

const listEntries = async (tx: Tx, book: AgentLedger): Promise<Entry[]> => {
  const entries: Entry[] = []
  for (const kind of postingKinds)
    for (let after: string | undefined = ''; after !== undefined;) {
      const page: PostedEntry[] = await listEntriesOfKind(tx, { ...book, kind, after, limit: pageSize })
      entries.push(...page.map((entry) => ({ ...entry, kind })))
      if (entries.length > postingsMax)
        throw new Error(`agent ${book.agentId} has more than ${postingsMax} packs, grants and reversals`)
      after = page.length === pageSize ? page.at(-1)?.reference : undefined
    }
  return entries
}

/**
 * In the order in which they were posted. Each has lines in several accounts, which number them; the times are those at which
 * transactions began, so they order only entries without a common account.
 */
const sortByLines = (entries: readonly Entry[]): Entry[] => {
  const queues = new Map<string, { readonly entry: Entry; readonly lineNumber: bigint }[]>()
  for (const entry of entries)
    for (const { account, lineNumber } of entry.lines) {
      const queue = queues.get(account) ?? []
      queue.push({ entry, lineNumber })
      queues.set(account, queue)
    }
  // The next one of an account is the last of its queue.
  for (const [account, queue] of queues)
    queues.set(
      account,
      queue.toSorted((a, b) => Number(b.lineNumber - a.lineNumber)),
    )
  const sorted: Entry[] = []
  while (sorted.length < entries.length) {
    const heads = [...queues.values()].flatMap((queue) => queue.at(-1)?.entry ?? [])
    const ready = heads.filter((entry) =>
      entry.lines.every(({ account }) => queues.get(account)?.at(-1)?.entry === entry),
    )
    const next = ready.toSorted((a, b) => a.at.getTime() - b.at.getTime())[0]
    if (!next) throw new Error(`${entries.length - sorted.length} entries of the ledger precede each other`)
    for (const { account } of next.lines) queues.get(account)?.pop()
    sorted.push(next)
  }
  return sorted
}

export const lotOfCheckout = (checkoutId: string): string => `purchase ${checkoutId}`

const creditPostingOf = ({ kind, reference, at, lines }: Entry): CreditPosting => {
  const lineOf = (account: string) => lines.find((line) => line.account === account)
  const credit = lineOf(accounts.balance)
  const outside = lineOf(kind === 'credit_grant' ? accounts.grants : accounts.purchases)
  if (!outside) throw new Error(`${kind} ${reference} has no line of the account outside`)
  const known = { at, credits: Math.abs(Number(outside.amount)) }
  const change = {
    balance: credit && Number(credit.balanceAfter),
    balanceChange: Number(credit?.amount ?? 0n),
  }
  if (kind !== 'purchase_reversal') return { ...known, ...change, kind: 'added', lot: `${kind} ${reference}` }
  // A reversal is named by its checkout and a revision.
  const lot = lotOfCheckout(reference.slice(0, reference.lastIndexOf(' ')))
  return { ...known, ...change, kind: outside.amount > 0n ? 'reversed' : 'restored', lot }
}

/** Everything that added credits to a live agent or took them back, in order. */
export const listCreditPostings = async (tx: Tx, book: AgentLedger): Promise<CreditPosting[]> =>
  sortByLines(await listEntries(tx, book)).map(creditPostingOf)
