import type { Mode } from '@pohf/protocol'
import { listEligibleMemberships, requirePerson } from '../../members/index.ts'
import type { Person } from '../../platform/http/call.ts'
import type { ClientAddress } from '../../platform/http/client-address.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { WorkerDeps } from '../deps.ts'
import { findKnownAnswerItem } from '../units/known-answers.ts'
import { findOrder, updateOrderStarted } from '../orders/store.ts'
import {
  findAssignment,
  findCurrentAssignment,
  findReturnLimitEnd,
  findWorkerAccuracy,
  insertAssignment,
} from './store.ts'
import { presentAssignment } from './present.ts'
import {
  claimMinutesOf,
  payeeRefOf,
  returnsHours,
  returnsMax,
  sessionChallengeOf,
  unitReference,
} from '../units/rules.ts'
import { publishOrderStatus } from '../orders/transitions.ts'
import { claimUnit } from '../units/queue/store.ts'
import type { Unit } from '../units/store.ts'

type ClaimRequest = { readonly workflowId: string; readonly mode: Mode; readonly address: ClientAddress }
type Claimant = {
  readonly personId: string
  readonly memberships: readonly { readonly agentId: string; readonly mode: Mode }[]
}

/** Locks the person; refuses one who is not enrolled in this mode, or has a claimed unit. */
const requireFreeWorker = async (tx: Tx, personId: string, mode: Mode): Promise<Claimant> => {
  await requirePerson(tx, personId)
  const memberships = (await listEligibleMemberships(tx, personId)).filter((member) => member.mode === mode)
  if (memberships.length === 0)
    throw new Refusal('member_not_enrolled', {
      message: `You are not enrolled anywhere for ${mode} work.`,
    })
  if (await findCurrentAssignment(tx, personId))
    throw new Refusal('order_conflict', {
      message: 'You already have a unit. Deliver or return it first.',
    })
  return { personId, memberships }
}

/** Flags that buyer and worker may be the same person. They are stored for operators, and refuse nobody. */
const collusionFlagsOf = async (
  tx: Tx,
  deps: WorkerDeps,
  unit: Unit,
  { memberships, address }: Claimant & { readonly address: ClientAddress },
): Promise<string[]> => {
  if (unit.agentId === deps.platformAgentOf(unit.mode)) return []
  const sameNetwork = (await deps.findNetworkTag(tx, unit.agentId)) === deps.networkTagOf(address)
  const onlyThroughBuyer = memberships.every(({ agentId }) => agentId === unit.agentId)
  return [...(sameNetwork ? ['same_network'] : []), ...(onlyThroughBuyer ? ['only_through_buyer'] : [])]
}

/** Refuses a person who returned too many units lately: whoever may return any number can choose the units. */
const requireFewReturns = async (tx: Tx, personId: string): Promise<void> => {
  const waitSeconds = await findReturnLimitEnd(tx, personId)
  if (waitSeconds !== undefined)
    throw new Refusal('rate_limited', {
      message: `You returned ${returnsMax} units within ${returnsHours} hours, or let their time run out. You can claim again later.`,
      headers: { 'retry-after': String(waitSeconds) },
    })
}

/** Claims a unit of a workflow for the person. */
export const workerClaim = (deps: WorkerDeps, { personId }: Person, request: ClaimRequest) => {
  const { ctx } = deps
  return inTransaction(ctx, 'system', async (tx) => {
    const { workflowId: taskId, mode } = request
    const claimant = await requireFreeWorker(tx, personId, mode)
    await requireFewReturns(tx, personId)
    const { pausedUntil } = await findWorkerAccuracy(tx, { personId, mode, taskId })
    if (pausedUntil)
      throw new Refusal('order_conflict', {
        message: `Too many of your answers to known-answer items were wrong. You can claim this work again from ${pausedUntil.toISOString()}. You can also appeal.`,
      })
    const unit = await claimUnit(tx, { taskId, mode, personId })
    const order = unit && (await findOrder(tx, unit))
    if (!unit || !order?.terms)
      throw new Refusal('out_of_stock', {
        message: 'No unit of this work is available to you now. Another worker may have claimed it.',
      })
    if (order.status === 'funded' && (await updateOrderStarted(tx, order)))
      await publishOrderStatus(tx, order, 'in_progress')
    const assignmentId = tx.ids.make('asg_')
    const key = ctx.secrets.derive('worker')
    await insertAssignment(tx, {
      assignmentId,
      personId,
      unit,
      item: unit.item,
      knownItem: await findKnownAnswerItem(tx, { key, personId, taskId, order, unit }),
      taskId,
      rewardStars: order.terms.rewardStars,
      worker: payeeRefOf(key, personId),
      challenge: sessionChallengeOf(key, assignmentId),
      minutes: claimMinutesOf(order.terms.estMinutes),
      dueAtLatest: order.terms.answerBy,
      flags: await collusionFlagsOf(tx, deps, unit, { ...claimant, address: request.address }),
    })
    const assignment = await findAssignment(tx, assignmentId)
    if (!assignment)
      throw new Error(
        `assignment ${assignmentId} of unit ${unitReference(unit.orderId, unit.n)} not found after its insert`,
      )
    return presentAssignment(tx, assignment)
  })
}
