import type { ReleaseReason, reportReasons } from '@pohf/protocol'
import { requirePerson } from '../../members/index.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import type { Person } from '../../platform/http/call.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { WorkerDeps } from '../deps.ts'
import { noteReport } from '../reviews/hold.ts'
import { isTrustedReporter, reportsHours, reportsMax } from '../reviews/rules.ts'
import { countDecidedReports, findReportLimitEnd, updateAssignmentReported } from '../reviews/store.ts'
import { lockUnit, releaseUnit, type LockedUnit } from '../units/transitions.ts'
import { requireOwnAssignment } from './assignment.ts'
import { summarizeAssignment } from './present.ts'
import { findAssignment } from './store.ts'

type Report = {
  readonly assignmentId: string
  readonly reason?: (typeof reportReasons)[number] | undefined
}

const requireFewReports = async (tx: Tx, personId: string): Promise<void> => {
  const waitSeconds = await findReportLimitEnd(tx, personId)
  if (waitSeconds !== undefined)
    throw new Refusal('rate_limited', {
      message: `You reported ${reportsMax} units within ${reportsHours} hours. You can return this one, and report again later.`,
      headers: { 'retry-after': String(waitSeconds) },
    })
}

/** Whether the person saw words of the buyer: a known-answer item is the operator's, its instructions are not. */
const showsBuyersWords = ({ order, holder }: LockedUnit): boolean =>
  !holder?.knownItem || order.instructions !== null

/** Reports a claimed unit. It is open for other people, unless its order is held, and counts as no return. */
export const workerReport = (
  deps: WorkerDeps,
  { personId }: Person,
  { assignmentId, reason = 'other' }: Report,
) =>
  inTransaction(deps.ctx, 'system', async (tx) => {
    // Locks the person, so that reports at the same time are counted.
    await requirePerson(tx, personId)
    const own = await requireOwnAssignment(tx, personId, assignmentId)
    const locked = await lockUnit(tx, own)
    if (locked?.holder?.assignmentId !== assignmentId || locked.holder.status !== 'claimed')
      throw new Refusal('order_conflict', { message: `This work is ${own.status}.` })
    await requireFewReports(tx, personId)
    const counts = showsBuyersWords(locked) && isTrustedReporter(await countDecidedReports(tx, personId))
    await updateAssignmentReported(tx, assignmentId, { reason, counts })
    const order = await noteReport(tx, locked.order)
    await releaseUnit(
      tx,
      deps,
      { ...locked, order },
      { status: 'returned', reasons: ['reported' satisfies ReleaseReason], isReport: true },
    )
    return summarizeAssignment(tx, (await findAssignment(tx, assignmentId)) ?? own)
  })
