import { reportDaysMax, reportDecisionsMax, type ApprovalReport } from '@pohf/protocol'
import { inTransaction, readNow, type Tx } from '../../platform/db/db.ts'
import type { Agent } from '../../platform/http/call.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { listApproversById } from '../administration/store.ts'
import { isSimulatedApprover } from '../rules.ts'
import { figuresOf, perPersonOf } from './rules.ts'
import { countDecisions, countRequests, findSettings, exceedsReportLimits, type Period } from './store.ts'

const defaultDays = 30
const dayMs = 86_400_000

export type ReportQuery = { readonly from?: Date | undefined; readonly to?: Date | undefined }

const refuse = (path: string, code: string, message: string): never => {
  throw new Refusal('validation_failed', { details: [{ path, code, message }] })
}

const periodOf = (query: ReportQuery, now: Date): Period => {
  const to = query.to && query.to < now ? query.to : now
  const from = query.from ?? new Date(Math.max(0, to.getTime() - defaultDays * dayMs))
  if (from >= to) refuse('query.from', 'too_big', 'must be before `to` and in the past')
  if (to.getTime() - from.getTime() > reportDaysMax * dayMs)
    refuse('query.from', 'too_small', `must be at most ${reportDaysMax} days before \`to\``)
  return { from, to }
}

/** The report of a period of one agent, in one transaction. */
export const readReport = async (tx: Tx, agent: Agent, query: ReportQuery): Promise<ApprovalReport> => {
  const period = periodOf(query, await readNow(tx))
  if (await exceedsReportLimits(tx, agent, period))
    refuse(
      'query.from',
      'too_small',
      `has more than ${reportDecisionsMax} decisions or requests until \`to\``,
    )
  const counts = await countDecisions(tx, agent, period)
  const { perPerson } = await findSettings(tx, agent)
  const people = counts.flatMap(({ approver, ...rest }) =>
    approver === null || isSimulatedApprover(agent.mode, approver) ? [] : [{ approver, ...rest }],
  )
  const rows = perPerson
    ? await listApproversById(
        tx,
        agent,
        people.map(({ approver }) => approver),
      )
    : []
  const names = new Map(rows.map(({ approver_id, name }) => [approver_id, name]))
  return {
    from: period.from.toISOString(),
    to: period.to.toISOString(),
    ...(await countRequests(tx, agent, period)),
    team: figuresOf(counts.find(({ approver }) => approver === null)),
    perPerson: perPerson ? perPersonOf(people, names) : null,
  }
}

export const report = (ctx: Ctx, agent: Agent, query: ReportQuery) =>
  inTransaction(ctx, agent.agentId, (tx) => readReport(tx, agent, query))
