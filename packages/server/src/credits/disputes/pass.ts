import { packs } from '@pohf/protocol'
import { listLineReferences } from '../../ledger/index.ts'
import type { DisputedSpan } from '../../platform/db/columns.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import type { Job } from '../../platform/queue/worker.ts'
import { accounts, disputedCredits, packOf } from '../rules.ts'
import { listMovements, lotOfCheckout } from './movements.ts'
import { countOf, disputedSpansOf, payersOf, planOf, type Disputed } from './payers.ts'
import {
  findDuePassLocked,
  findPassLocked,
  listDisputedPacks,
  updateDisputedCounts,
  updatePassDeferred,
  updatePassProgress,
  type Book,
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
  const { lots, spentAt } = payersOf(await listMovements(tx, pass))
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
  { agentId, mode }: Book,
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

type Step = {
  /** Finds a pass and locks it. */
  readonly find: (tx: Tx) => Promise<Pass | undefined>
  readonly limit: number
  /** Passes over the credentials without changing them. */
  readonly skips: boolean
}

/** Makes the plan of a pass, or changes its next credentials. Returns how many; zero where no pass is due. */
const takeStep = (
  { ctx, changeCredentialState }: DisputeDeps,
  { find, limit, skips }: Step,
  noteBook: (book: Book) => void,
): Promise<number> =>
  inTransaction(ctx, 'system', async (tx) => {
    const pass = await find(tx)
    if (!pass) return 0
    const { agentId, mode, plan, skipped } = pass
    noteBook({ agentId, mode })
    const state = plan?.[0]?.state
    if (!plan || !state) {
      await updatePassProgress(tx, pass, { plan: await makePlan(tx, pass), skipped })
      return 1
    }
    const { references, missing, rest } = await readPage(tx, pass, plan, limit)
    if (missing > 0)
      ctx.log.error(
        { agentId, missing, span: plan[0] },
        'spent credits of a disputed pack are not in the ledger',
      )
    if (skips) ctx.log.error({ agentId, credentialIds: references, state }, 'disputed credential was skipped')
    else
      for (const credentialId of references)
        await changeCredentialState(tx, { credentialId, ...changes[state] })
    const left = skipped + missing + (skips ? references.length : 0)
    await updatePassProgress(tx, pass, { plan: rest, skipped: left })
    return references.length + missing
  })

/** Changes the credentials of a page one by one after it failed, and skips those that fail alone. */
const takeSingleSteps = async (deps: DisputeDeps, book: Book): Promise<number> => {
  const find = (tx: Tx) => findPassLocked(tx, book)
  const step = (skips: boolean) => takeStep(deps, { find, limit: 1, skips }, () => undefined)
  for (let count = 0; count < pageSize; count++)
    try {
      if ((await step(false)) === 0) return count
    } catch (error) {
      deps.ctx.log.error({ err: error, ...book }, 'disputed credential could not be changed')
      await step(true)
    }
  return pageSize
}

/**
 * Suspends the credentials that a disputed pack paid for, revokes them once the dispute is lost, and reinstates those that
 * are suspended for nothing else once it is won. A page for each transaction: a process that ends loses nothing.
 */
const runPass = async (deps: DisputeDeps): Promise<number> => {
  let book: Book | undefined
  const noteBook = (found: Book) => {
    book = found
  }
  try {
    return await takeStep(deps, { find: findDuePassLocked, limit: pageSize, skips: false }, noteBook)
  } catch (error) {
    const failed = book as Book | undefined
    if (!failed) throw error
    deps.ctx.log.error({ err: error, ...failed }, 'page of disputed credentials failed')
    try {
      return await takeSingleSteps(deps, failed)
    } catch (cause) {
      await inTransaction(deps.ctx, 'system', (tx) => updatePassDeferred(tx, failed, deferSeconds))
      throw cause
    }
  }
}

export const disputeJob = (deps: DisputeDeps): Job => ({
  name: 'disputed credentials',
  everyMs: 5_000,
  run: () => runPass(deps),
})
