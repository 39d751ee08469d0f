import * as credentials from '../credentials/index.ts'
import * as ledger from '../ledger/index.ts'
import { unlessUnavailable } from '../platform/db/unless-unavailable.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { measureOutbox } from '../platform/queue/outbox.ts'
import { measureDelivery } from '../tracking/index.ts'

/**
 * Reads what the database knows, runs `measures`, and writes all metrics of the process. In an outage the metrics of the
 * process are needed most: those of the database are left out.
 */
export const renderMetrics = async (ctx: Ctx, measures: readonly (() => Promise<void>)[]) => {
  const { metrics } = ctx
  const fromDatabase = Promise.all([
    measureOutbox(ctx),
    measureDelivery(ctx),
    ledger.measureDrift(ctx),
    credentials.measurePendingRevocations(ctx),
  ])
  const [measured] = await Promise.all([
    unlessUnavailable(fromDatabase),
    ...measures.map((measure) => measure()),
  ])
  if (measured === undefined) {
    metrics.outboxAge.reset()
    metrics.attentionLag.remove()
    metrics.attentionSpool.remove()
    metrics.ledgerDrift.remove()
    metrics.revocationPending.remove()
  }
  return { mediaType: metrics.registry.contentType, text: await metrics.registry.metrics() }
}
