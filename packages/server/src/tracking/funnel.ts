import type { Agent } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction } from '../platform/db/db.ts'
import type { AttentionStore } from './engines/port.ts'
import { rateOf } from './rules.ts'
import { countedAt, readWindow, type WindowQuery } from './windows.ts'

/** The funnel of the verified views of a window. Beacons and conversions count at the time of their view. */
export const funnel = async (ctx: Ctx, store: AttentionStore, agent: Agent, query: WindowQuery) => {
  const { window, until } = await inTransaction(ctx, agent.agentId, (tx) => readWindow(tx, agent, query))
  const { views, landed, engaged, conversions, converted, values, countedUntil } = await store.funnel(
    ctx,
    window,
  )
  const rates = {
    landed: rateOf(landed, views),
    engaged: rateOf(engaged, views),
    conversion: rateOf(converted, views),
  }
  return {
    views,
    landed,
    engaged,
    conversions,
    rates,
    value: Object.fromEntries(values.map(({ code, total }) => [code, total])),
    since: window.since.toISOString(),
    until: countedAt(until, countedUntil).toISOString(),
    site: window.site,
    workflow: window.workflow,
    steps: [
      { step: 'views' as const, views, rate: rateOf(views, views) },
      { step: 'landed' as const, views: landed, rate: rates.landed },
      { step: 'engaged' as const, views: engaged, rate: rates.engaged },
      { step: 'converted' as const, views: converted, rate: rates.conversion },
    ],
  }
}
