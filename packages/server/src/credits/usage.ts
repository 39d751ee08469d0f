import { qualityBins, usageBucketsMax, type Usage } from '@pohf/protocol'
import { balanceOf, listConsumption } from '../ledger/index.ts'
import type { Agent } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction, readNow, type Tx } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { listRefusedByReason, listSessionFigures, type BucketWindow } from '../sessions/index.ts'
import type { Credits } from './credits.ts'
import { accounts, bucketMs, daysLeftOf, sumOf, usageWindow, type UsageFigures } from './rules.ts'

type Query = {
  readonly bucket: Usage['bucket']
  readonly since?: Date | undefined
  readonly until?: Date | undefined
}

/** The rate at which credits are spent is that of the last days. */
const rateDays = 7
const consumed = Object.values(accounts.consumed)

const readWindow = (query: Query, now: Date) => {
  const window = usageWindow(query, now)
  const buckets = (window.until.getTime() - window.since.getTime()) / bucketMs[query.bucket]
  const bucketsMax = usageBucketsMax[query.bucket]
  if (buckets >= 1 && buckets <= bucketsMax) return { ...window, buckets }
  throw new Refusal('validation_failed', {
    details: [
      {
        path: 'query.since',
        code: 'invalid',
        message: `must be before until, by at most ${bucketsMax} ${query.bucket}s`,
      },
    ],
  })
}

/** Every bucket of the window, with zeros where nothing happened. */
const readSeries = async (tx: Tx, window: BucketWindow & { readonly buckets: number }) => {
  const sessions = await listSessionFigures(tx, window)
  const reasons = await listRefusedByReason(tx, window)
  const spent = await listConsumption(tx, { ...window, accounts: consumed, unit: 'credit' })
  const sessionsAt = new Map(sessions.map((row) => [row.at.getTime(), row]))
  const spentAt = new Map(spent.map((row) => [row.at.getTime(), Number(row.amount)]))
  const reasonsAt = Map.groupBy(reasons, (row) => row.at.getTime())
  const series = Array.from({ length: window.buckets }, (_, index) => {
    const at = window.since.getTime() + index * bucketMs[window.bucket]
    const figures = sessionsAt.get(at)
    return {
      at: new Date(at).toISOString(),
      started: figures?.started ?? 0,
      ended: figures?.ended ?? 0,
      verified: figures?.verified ?? 0,
      refused: figures?.refused ?? 0,
      spent: spentAt.get(at) ?? 0,
      refusedBy: Object.fromEntries((reasonsAt.get(at) ?? []).map((row) => [row.reason, row.refused])),
    }
  })
  const quality = Array.from({ length: qualityBins }, (_, bin) =>
    sessions.reduce((sum, row) => sum + (row.quality[bin] ?? 0), 0),
  )
  return { series, quality }
}

/** What the agent can spend, and for how long at the rate of the last days. */
const readRunway = async (tx: Tx, credits: Credits, { agentId, mode }: Agent, now: Date) => {
  const allowance = mode === 'live' ? await credits.readAllowance(tx, agentId) : undefined
  const available = allowance
    ? allowance.free + allowance.credits
    : await balanceOf(tx, { agentId, mode, account: accounts.balance, unit: 'credit' })
  const window = usageWindow(
    { bucket: 'hour', since: new Date(now.getTime() - rateDays * bucketMs.day) },
    now,
  )
  const key = { agentId, mode, bucket: 'day', accounts: consumed, unit: 'credit' } as const
  const spent = (await listConsumption(tx, { ...key, ...window })).reduce(
    (sum, row) => sum + Number(row.amount),
    0,
  )
  const spentPerDay = Math.round((spent / rateDays) * 100) / 100
  return {
    available: Number(available),
    spentPerDay,
    daysLeft: mode === 'live' ? daysLeftOf(Number(available), spentPerDay) : null,
  }
}

/** What the agent used by hour or day, and how long its credits last. */
export const usage = async (ctx: Ctx, credits: Credits, agent: Agent, query: Query): Promise<Usage> =>
  inTransaction(ctx, agent.agentId, async (tx) => {
    const { agentId, mode } = agent
    const { bucket } = query
    const now = await readNow(tx)
    const window = readWindow(query, now)
    const { series, quality } = await readSeries(tx, { agentId, mode, bucket, ...window })
    const total = (figure: keyof UsageFigures) => sumOf(series, figure)
    return {
      bucket,
      since: window.since.toISOString(),
      until: window.until.toISOString(),
      totals: {
        started: total('started'),
        ended: total('ended'),
        verified: total('verified'),
        refused: total('refused'),
        spent: total('spent'),
      },
      series,
      quality,
      runway: await readRunway(tx, credits, agent, now),
    }
  })
