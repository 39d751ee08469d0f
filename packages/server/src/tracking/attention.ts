import { verifiedRule } from '@pohf/scorer'
import type { Agent } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction } from '../platform/db/db.ts'
import type { AttentionStore } from './engines/port.ts'
import { flagList, heatOf, percentileMs, qualityList, seriesOf } from './report-rules.ts'
import { countedAt, readWindow, requireReportLength, type WindowQuery } from './windows.ts'

type Query = WindowQuery & { readonly timezone: string }

/** The attention report of a window: all figures of one agent's views, in one answer. */
export const attention = async (ctx: Ctx, store: AttentionStore, agent: Agent, query: Query) => {
  const { window, until } = await inTransaction(ctx, agent.agentId, (tx) => readWindow(tx, agent, query))
  requireReportLength(window.since, until)
  const figures = await store.attention(ctx, window)
  const { opened, finished, abandoned, durations } = figures
  const period = {
    since: window.since.toISOString(),
    until: countedAt(until, figures.countedUntil).toISOString(),
  }
  return {
    ...period,
    site: window.site,
    workflow: window.workflow,
    timezone: query.timezone,
    summary: { ...figures.summary, ...period },
    threshold: verifiedRule.qualityMin,
    series: seriesOf(figures.hours, window.since, until),
    quality: qualityList(figures.qualities),
    heat: heatOf(figures.hours, query.timezone),
    flags: flagList(figures.summary.flags),
    probes: { shown: figures.probes, passed: figures.passed },
    checks: {
      started: opened,
      finished,
      abandoned,
      medianMs: percentileMs(durations, 0.5),
      p90Ms: percentileMs(durations, 0.9),
    },
    pages: [...figures.pages],
  }
}
