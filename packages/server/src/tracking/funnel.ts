import type { Agent } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction, readNow } from '../platform/db/db.ts'
import { findViewSummary } from '../sessions/index.ts'
import { engagementTypes, rateOf, windowStart } from './rules.ts'
import { findBeaconCounts, findConversionCounts, listConversionValues } from './store.ts'

const defaultDays = 30

/** The funnel of the verified views of a window. Beacons and conversions count at the time of their view. */
export const funnel = async (ctx: Ctx, agent: Agent, requestedSince: Date | undefined) =>
  inTransaction(ctx, agent.agentId, async (tx) => {
    const until = await readNow(tx)
    const since = windowStart(requestedSince, until, defaultDays)
    const window = { agentId: agent.agentId, mode: agent.mode, since }
    const { landed, engaged } = await findBeaconCounts(tx, window, engagementTypes)
    const { conversions, converted } = await findConversionCounts(tx, window)
    const values = await listConversionValues(tx, window)
    const { verified: views } = await findViewSummary(tx, window)
    return {
      views,
      landed,
      engaged,
      conversions,
      rates: {
        landed: rateOf(landed, views),
        engaged: rateOf(engaged, views),
        conversion: rateOf(converted, views),
      },
      value: Object.fromEntries(values.map(({ code, total }) => [code, total])),
      since: since.toISOString(),
      until: until.toISOString(),
    }
  })
