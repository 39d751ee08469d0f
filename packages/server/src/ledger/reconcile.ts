import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction, type Tx } from '../platform/db/db.ts'
import type { Job } from '../platform/queue/worker.ts'
import { driftOfAccount, driftOfTotal, type AccountCheck, type Drift } from './rules.ts'
import {
  findAccountCheck,
  findComparisonProgress,
  findPageEnd,
  insertCheckpoint,
  insertDrift,
  listAccountChecks,
  listOpenDrift,
  listUnbalancedTotals,
  updateComparisonProgress,
  updateDriftCleared,
  type AccountKey,
} from './store.ts'

/**
 * A time span of a comparison: from `from` (inclusive) to `to` (exclusive). `rowsMax` limits the rows of each record in it.
 */
type Span = { readonly from: Date; readonly to: Date; readonly rowsMax: number }

/**
 * A comparison of the ledger with another record: credentials with their payments, card events with credits, the chain
 * with purchases. The module that owns the other record implements it, and the wiring passes it to the reconciler.
 */
export type Comparison = {
  readonly name: string
  /** The differences within this span, in both directions; undefined where a record has `rowsMax` rows or more in it. */
  readonly find: (tx: Tx, span: Span) => Promise<readonly Drift[] | undefined>
  /** Whether a difference that was found before is still there. */
  readonly persists: (tx: Tx, drift: Drift) => Promise<boolean>
}

const everyMs = 60_000
const accountsPerPage = 2_000
/**
 * The narrowest span, which is read without a limit. A wider span with `rowsMax` rows or more is read again in narrower
 * spans.
 */
const spanMsMin = 10_000
const spanMsMax = 31 * 86_400_000
const spanFactor = 8
const rowsMax = 5_000
/** Spans that one run reads. A month without rows takes one or two. */
const spansMax = 90
/** A transaction stores the time of its start and may commit this much later. */
const overlapMs = 60_000

type CheckResult = { readonly accounts: number; readonly lines: number; readonly drift: readonly Drift[] }

const checkPage = async (
  tx: Tx,
  range: { readonly after: AccountKey | undefined; readonly upTo: AccountKey | undefined },
  whole: boolean,
): Promise<CheckResult> => {
  const checks = await listAccountChecks(tx, range, whole)
  const drift: Drift[] = []
  for (const check of checks) {
    const fault = driftOfAccount(check)
    if (fault) drift.push(fault)
    else await insertCheckpoint(tx, check)
  }
  const agentIds = [...new Set(checks.map((check) => check.agentId))]
  drift.push(...(await listUnbalancedTotals(tx, agentIds)).map(driftOfTotal))
  return { accounts: checks.length, lines: checks.reduce((sum, check) => sum + check.lines, 0), drift }
}

/** Checks every account whose balance or number of lines changed since its last check. */
const checkAccounts = async (ctx: Ctx, whole: boolean): Promise<CheckResult> => {
  const pages: CheckResult[] = []
  for (let after: AccountKey | undefined; ;) {
    const upTo: AccountKey | undefined = await inTransaction(ctx, 'system', (tx) =>
      findPageEnd(tx, after, accountsPerPage),
    )
    const from = after
    pages.push(await inTransaction(ctx, 'system', (tx) => checkPage(tx, { after: from, upTo }, whole)))
    if (!upTo) break
    after = upTo
  }
  return {
    accounts: pages.reduce((sum, page) => sum + page.accounts, 0),
    lines: pages.reduce((sum, page) => sum + page.lines, 0),
    drift: pages.flatMap((page) => page.drift),
  }
}

const compare = async (ctx: Ctx, comparison: Comparison): Promise<readonly Drift[]> => {
  const { until, now } = await inTransaction(ctx, 'system', (tx) =>
    findComparisonProgress(tx, comparison.name),
  )
  const drift: Drift[] = []
  // `until` can be later than now if the clock was set back: new entries then have times that were already compared.
  let from = Math.min(until?.getTime() ?? Infinity, now.getTime()) - overlapMs
  let spanMs = spanMsMax
  for (let spans = 0; spans < spansMax && from <= now.getTime(); spans++) {
    const to = Math.min(from + spanMs, now.getTime() + 1)
    const isNarrow = to - from <= spanMsMin
    const span = {
      from: new Date(from),
      to: new Date(to),
      rowsMax: isNarrow ? Number.MAX_SAFE_INTEGER : rowsMax,
    }
    const found = await inTransaction(ctx, 'system', (tx) => comparison.find(tx, span))
    if (found) {
      drift.push(...found)
      from = to
      spanMs = Math.min(spanMsMax, spanMs * spanFactor)
    } else spanMs = Math.max(spanMsMin, Math.min(spanMs, to - from) / spanFactor)
  }
  await inTransaction(ctx, 'system', (tx) => updateComparisonProgress(tx, comparison.name, new Date(from)))
  return drift
}

const fullCheckOf = (tx: Tx, drift: Drift): Promise<AccountCheck | undefined> => {
  const [account = '', unit = ''] = drift.subject.split(' ')
  return findAccountCheck(tx, { agentId: drift.agentId, mode: drift.mode, account, unit })
}

const persists = async (tx: Tx, drift: Drift, comparisons: readonly Comparison[]): Promise<boolean> => {
  const comparison = comparisons.find(({ name }) => name === drift.finding)
  if (comparison) return comparison.persists(tx, drift)
  if (drift.finding === 'book_uneven')
    return (await listUnbalancedTotals(tx, [drift.agentId])).some(
      (total) => driftOfTotal(total).subject === drift.subject,
    )
  const check = await fullCheckOf(tx, drift)
  return check !== undefined && driftOfAccount(check) !== undefined
}

/** Clears drift that no longer exists; its agent can mint again without an operator's action. */
const clearResolvedDrift = async (ctx: Ctx, comparisons: readonly Comparison[]): Promise<void> => {
  for (const drift of await inTransaction(ctx, 'system', listOpenDrift)) {
    const cleared = await inTransaction(ctx, 'system', async (tx) => {
      if (await persists(tx, drift, comparisons)) return false
      await updateDriftCleared(tx, drift)
      return true
    })
    if (cleared) ctx.log.warn({ ...drift }, 'ledger drift cleared')
  }
}

/**
 * Reconciles the ledger where it has changed since the last run: a balance is the sum of its lines, lines have no gaps,
 * all accounts of an agent sum to zero per unit, and the ledger agrees with the other records. Drift stops minting for its
 * agent and is logged as an error. With `whole`, every line is read again from the first.
 */
export const reconcile = async (ctx: Ctx, comparisons: readonly Comparison[], whole = false) => {
  const accounts = await checkAccounts(ctx, whole)
  const drift = [...accounts.drift]
  for (const comparison of comparisons) drift.push(...(await compare(ctx, comparison)))
  for (const found of drift) {
    if (await inTransaction(ctx, 'system', (tx) => insertDrift(tx, found)))
      ctx.log.error({ ...found }, 'ledger drift found; the agent cannot mint until it is cleared')
  }
  await clearResolvedDrift(ctx, comparisons)
  const open = await inTransaction(ctx, 'system', listOpenDrift)
  return { accounts: accounts.accounts, lines: accounts.lines, open }
}

/** Sets the metric of open drift. It is read from the database, because the worker finds drift and only the api serves metrics. */
export const measureDrift = async (ctx: Ctx): Promise<void> => {
  const open = await inTransaction(ctx, 'system', listOpenDrift)
  ctx.metrics.ledgerDrift.set(open.length)
}

/** The reconciler, every minute. Two workers at once do no harm: they find the same drift. */
export const reconcileJob = (ctx: Ctx, comparisons: readonly Comparison[]): Job => ({
  name: 'reconcile',
  everyMs,
  run: async () => {
    await reconcile(ctx, comparisons)
    return 0
  },
})
