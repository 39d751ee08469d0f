import { attentionDaysMax } from '@pohf/protocol'
import type { Agent } from '../platform/http/call.ts'
import { readNow, type Tx } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import type { ViewWindow } from '../sessions/index.ts'
import type { CountedUntil } from './engines/port.ts'
import { windowStart } from './rules.ts'

const defaultDays = 30
const dayMs = 86_400_000

export type WindowQuery = {
  readonly since?: Date | undefined
  readonly until?: Date | undefined
  readonly site?: string | undefined
  readonly workflow?: string | undefined
}

const refuse = (path: string, code: string, message: string): never => {
  throw new Refusal('validation_failed', { details: [{ path, code, message }] })
}

/** The window that a report asks for, and the time at which it ends. */
export const readWindow = async (
  tx: Tx,
  agent: Agent,
  query: WindowQuery,
): Promise<{ readonly window: ViewWindow; readonly until: Date }> => {
  const now = await readNow(tx)
  const isPast = query.until !== undefined && query.until < now
  const until = isPast && query.until ? new Date(Math.max(0, query.until.getTime())) : now
  if (query.since && query.since > until && query.until)
    refuse('query.since', 'too_big', 'must not be after `until`')
  const since = windowStart(query.since, until, defaultDays)
  const window = {
    agentId: agent.agentId,
    mode: agent.mode,
    since,
    until: isPast ? until : null,
    site: query.site ?? null,
    workflow: query.workflow ?? null,
  }
  return { window, until }
}

/** Refuses a window of more days than the attention report has points for. */
export const requireReportLength = (since: Date, until: Date): void => {
  if (until.getTime() - since.getTime() > attentionDaysMax * dayMs)
    refuse('query.since', 'too_small', `must be at most ${attentionDaysMax} days before \`until\``)
}

/** The end of a window as the answer names it: not later than the time until which everything is counted. */
export const countedAt = (until: Date, countedUntil: CountedUntil): Date =>
  countedUntil !== null && countedUntil < until ? countedUntil : until
