import { packs } from '@pohf/protocol'
import { listLineReferences } from '../../ledger/index.ts'
import type { DisputedSpan } from '../../platform/db/columns.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import type { Job } from '../../platform/queue/worker.ts'
import { accounts, disputedCredits, packOf } from '../rules.ts'
import { listCreditPostings, lotOfCheckout } from './postings.ts'
import { countOf, disputedSpansOf, payersOf, planOf, type Disputed } from './payers.ts'
import {
  findDuePassLocked,
  findPassLocked,
  listDisputedPacks,
  updateDisputedCounts,
  updatePassDeferred,
  updatePassProgress,
  type AgentLedger,
  type DisputedPack,
  type Pass,
} from './store.ts'

export type DisputeDeps = {
  readonly ctx: Ctx
  /** Injected by the wiring: suspends, revokes or reinstates a credential on the ground of a dispute. */
  readonly changeCredentialState: (
    tx: Tx,
    change: {
      readonly credentialId: string
      readonly reason: string
      readonly to: DisputedSpan['state']
      readonly ground?: 'dispute'
    },
  ) => Promise<void>
}

/** Credentials of one transaction: each changes a status list, which others wait for. */
const pageSize = 100
/** When a pass that failed is tried again. */
const deferSeconds = 600

const creditsOf = (pack: DisputedPack): Omit<Disputed, 'lot'> =>
  disputedCredits(BigInt(packs[packOf(pack.pack)].credits), pack)

/** Makes the plan of a pass from the ledger, and counts the credentials of each pack. */
const makePlan = async (tx: Tx, pass: Pass): Promise<DisputedSpan[]> => {
  const { lots, spentAt } = payersOf(await listCreditPostings(tx, pass))
  const disputed: Disputed[] = []
  for (const pack of await listDisputedPacks(tx, pass)) {
    const { checkoutId } = pack
    const lot = lots.get(lotOfCheckout(checkoutId))
    if (!lot)
      throw new Error(
        `pack of checkout ${checkoutId} of agent ${pass.agentId} is disputed and not in the ledger`,
      )
    const one = { lot, ...creditsOf(pack) }
    const { suspended, revoked } = disputedSpansOf(one)
    await updateDisputedCounts(tx, pass, {
      checkoutId,
      suspended: countOf(suspended),
      revoked: countOf(revoked),
    })
    disputed.push(one)
  }
  return planOf(disputed, spentAt)
}

const changes = {
  suspended: { to: 'suspended', ground: 'dispute', reason: 'the payment for it is disputed' },
  // Whatever suspended it: the money for it is gone.
  revoked: { to: 'revoked', reason: 'the payment for it was charged back' },
  issued: { to: 'issued', ground: 'dispute', reason: 'no dispute of the payment for it is left' },
} as const

type Page = {
  readonly references: readonly string[]
  /** Spent credits that have no line in the ledger. */
  readonly missing: number
  /** What is left of the plan after this page. */
  readonly rest: readonly DisputedSpan[]
}

/** The next credentials of a plan. Lines of an account are numbered from 1. */
const readPage = async (
  tx: Tx,
  { agentId, mode }: AgentLedger,
  plan: readonly DisputedSpan[],
  limit: number,
): Promise<Page> => {
  const [span, ...others] = plan
  if (!span) return { references: [], missing: 0, rest: [] }
  const to = Math.min(span.to, span.from + limit)
  const lines = await listLineReferences(tx, {
    agentId,
    mode,
    account: accounts.consumed.credit,
    unit: 'credit',
    from: span.from + 1,
    to: to + 1,
    since: new Date(span.since),
    until: new Date(span.until),
    limit,
  })
  return {
    references: lines.map(({ reference }) => reference),
    missing: to - span.from - lines.length,
    rest: to < span.to ? [{ ...span, from: to }, ...others] : others,
  }
}

/** Changes credentials, and returns how many were refused, such as one that the database does not have. */
const changeAll = async (
  tx: Tx,
  { ctx, changeCredentialState }: DisputeDeps,
  credentialIds: readonly string[],
  state: DisputedSpan['state'],
): Promise<number> => {
  let refused = 0
  for (const credentialId of credentialIds)
    try {
      await changeCredentialState(tx, { credentialId, ...changes[state] })
    } catch (error) {
      // Any other error may have ended the transaction.
      if (!(error instanceof Refusal)) throw error
      refused += 1
      ctx.log.error({ err: error, credentialId, state }, 'disputed credential was skipped')
    }
  return refused
}

/** Where a pass stands: at the next spent credit of its plan, or before it has one. */
type Position = { readonly book: AgentLedger; readonly next: number | undefined }
type Step = {
  /** Finds a pass and locks it. */
  readonly find: (tx: Tx) => Promise<Pass | undefined>
  readonly limit: number
  /** Passes over the credentials without changing them, where the pass still stands here. */
  readonly skipAt?: number | undefined
}

/** Makes the plan of a pass, or changes its next credentials. Returns how many; zero where no pass is due. */
const runStep = (
  deps: DisputeDeps,
  { find, limit, skipAt }: Step,
  notePosition: (position: Position) => void,
): Promise<number> =>
  inTransaction(deps.ctx, 'system', async (tx) => {
    const { log } = deps.ctx
    const pass = await find(tx)
    if (!pass) return 0
    const { agentId, mode, plan, skipped } = pass
    const span = plan?.[0]
    notePosition({ book: { agentId, mode }, next: span?.from })
    if (!plan || !span) {
      await updatePassProgress(tx, pass, { plan: await makePlan(tx, pass), skipped })
      return 1
    }
    const { references, missing, rest } = await readPage(tx, pass, plan, limit)
    if (missing > 0)
      log.error({ agentId, missing, span }, 'spent credits of a disputed pack are not in the ledger')
    const isSkipped = skipAt === span.from
    if (isSkipped)
      log.error({ agentId, credentialIds: references, state: span.state }, 'disputed credential was skipped')
    const refused = isSkipped ? references.length : await changeAll(tx, deps, references, span.state)
    await updatePassProgress(tx, pass, { plan: rest, skipped: skipped + missing + refused })
    return references.length + missing
  })

/** Changes the credentials of a page one by one after it failed, and skips those that fail alone. */
const runSingleSteps = async (deps: DisputeDeps, book: AgentLedger): Promise<number> => {
  let skipAt: number | undefined
  const notePosition = ({ next }: Position) => {
    skipAt = next
  }
  const step = { find: (tx: Tx) => findPassLocked(tx, book), limit: 1 }
  for (let count = 0; count < pageSize; count++)
    try {
      if ((await runStep(deps, step, notePosition)) === 0) return count
    } catch (error) {
      deps.ctx.log.error({ err: error, ...book }, 'disputed credential could not be changed')
      await runStep(deps, { ...step, skipAt }, () => undefined)
    }
  return pageSize
}

/**
 * Suspends the credentials that a disputed pack paid for, revokes them once the dispute is lost, and reinstates those that
 * are suspended for nothing else once it is won. A page for each transaction: a process that ends loses nothing.
 */
const runPass = async (deps: DisputeDeps): Promise<number> => {
  const books: AgentLedger[] = []
  try {
    return await runStep(deps, { find: findDuePassLocked, limit: pageSize }, ({ book }) => books.push(book))
  } catch (error) {
    const book = books.at(-1)
    if (!book) throw error
    deps.ctx.log.error({ err: error, ...book }, 'page of disputed credentials failed')
    try {
      return await runSingleSteps(deps, book)
    } catch (cause) {
      await inTransaction(deps.ctx, 'system', (tx) => updatePassDeferred(tx, book, deferSeconds))
      throw cause
    }
  }
}

export const disputeJob = (deps: DisputeDeps): Job => ({
  name: 'disputed credentials',
  everyMs: 5_000,
  run: () => runPass(deps),
})
