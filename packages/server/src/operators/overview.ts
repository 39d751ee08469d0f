import { overviewCountMax } from '@pohf/protocol'
import type { Operator, ResultOf } from '../platform/http/call.ts'
import { readWorkerSeen } from '../platform/db/clock.ts'
import { inTransaction, readNow, type Tx } from '../platform/db/db.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { mailTopics, readQueues } from '../platform/queue/outbox.ts'

type Overview = ResultOf<'operators.overview'>

/** Provided by the wiring: other modules own what the overview counts. */
export type OverviewDeps = {
  readonly ctx: Ctx
  readonly readChecks: () => Promise<Overview['checks']>
  /** Null if no signer answers. */
  readonly readKeys: () => Promise<Overview['keys']>
  readonly countWork: (
    tx: Tx,
    max: number,
  ) => Promise<
    Pick<Overview, 'gasKeys' | 'decisions' | 'ledgerDifferences'> & {
      readonly webhooks: number
      readonly purchases: { readonly waiting: number; readonly oldestSeconds: number | null }
    }
  >
}

/** Events, and the mails of all classes together. */
const countQueues = async (tx: Tx): Promise<Overview['queues']> => {
  const queues = await readQueues(tx, ['event', ...mailTopics])
  const [events, mails] = [
    queues.filter(({ topic }) => topic === 'event'),
    queues.filter(({ topic }) => topic !== 'event'),
  ]
  const together = (of: typeof queues) => {
    const ages = of.flatMap(({ oldestSeconds }) => oldestSeconds ?? [])
    return {
      waiting: Math.min(
        of.reduce((sum, { waiting }) => sum + waiting, 0),
        overviewCountMax,
      ),
      oldestSeconds: ages.length === 0 ? null : Math.max(...ages),
    }
  }
  return [
    { name: 'events', ...together(events) },
    { name: 'mails', ...together(mails) },
  ]
}

/** The health of the service and what waits, for the first page of operators. Every count is bounded. */
export const overview = async (deps: OverviewDeps, operator: Operator): Promise<Overview> => {
  const { ctx } = deps
  // Both call other processes, so neither is within the transaction.
  const [checks, keys] = await Promise.all([deps.readChecks(), deps.readKeys()])
  return inTransaction(ctx, 'system', async (tx) => {
    const worker = await readWorkerSeen(tx)
    const { webhooks, purchases, ...work } = await deps.countWork(tx, overviewCountMax)
    return {
      at: (await readNow(tx)).toISOString(),
      operator: {
        operatorId: operator.operatorId,
        name: operator.name,
        decidesPayouts: operator.madeBy === undefined,
      },
      demo: ctx.config.DEMO_DATA === 'true',
      payoutApproval: ctx.config.PAYOUT_APPROVAL === 'on',
      mailServer: ctx.config.SMTP_URL !== undefined,
      checks,
      worker: { seenAt: worker.seenAt.toISOString(), ok: worker.ok },
      queues: [
        ...(await countQueues(tx)),
        { name: 'webhooks', waiting: webhooks, oldestSeconds: null },
        { name: 'purchases', ...purchases },
      ],
      ...work,
      keys,
    }
  })
}
