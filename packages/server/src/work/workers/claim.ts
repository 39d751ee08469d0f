import type { Mode } from '@pohf/protocol'
import { listWorkable, requirePerson } from '../../members/index.ts'
import type { Person } from '../../platform/http/call.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { WorkerDeps } from '../deps.ts'
import { claimGold } from '../units/known-answers.ts'
import { findOrder, updateOrderBegun } from '../orders/store.ts'
import { findAssignment, findCurrent, findStanding, insertAssignment } from './store.ts'
import { showAssignment } from './present.ts'
import { challengeOf, claimMinutesOf, workerOf } from '../units/rules.ts'
import { tellOrder } from '../orders/transitions.ts'
import { claimUnit, updateUnitFreed, type Unit } from '../units/store.ts'

type Wish = { readonly workflowId: string; readonly mode: Mode; readonly address: string }
type Who = {
  readonly personId: string
  readonly workable: readonly { readonly agentId: string; readonly mode: Mode }[]
}

/** The person, one call at a time, who may work in this mode and has nothing in hand. */
const requireFree = async (tx: Tx, personId: string, mode: Mode): Promise<Who> => {
  await requirePerson(tx, personId)
  const workable = (await listWorkable(tx, personId)).filter((member) => member.mode === mode)
  if (workable.length === 0)
    throw new Refusal('member_not_enrolled', {
      message: `You are not enrolled anywhere for ${mode} work.`,
    })
  if (await findCurrent(tx, personId))
    throw new Refusal('order_conflict', {
      message: 'You have a unit in hand. Hand it in or give it back first.',
    })
  return { personId, workable }
}

/** Signs that buyer and person may be one. They are looked at, and refuse nobody. */
const flagsOf = async (
  tx: Tx,
  deps: WorkerDeps,
  unit: Unit,
  { workable, address }: Who & { readonly address: string },
): Promise<string[]> => {
  if (unit.agentId === deps.houseOf(unit.mode)) return []
  const sameNetwork = (await deps.findNetwork(tx, unit.agentId)) === deps.networkOf(address)
  const onlyThroughBuyer = workable.every(({ agentId }) => agentId === unit.agentId)
  return [...(sameNetwork ? ['same_network'] : []), ...(onlyThroughBuyer ? ['only_through_buyer'] : [])]
}

/** The oldest unit that waits, or now and then one whose answer is known: it comes only where another would have. */
const take = async (
  tx: Tx,
  deps: WorkerDeps,
  wish: { readonly taskId: string; readonly mode: Mode; readonly personId: string },
): Promise<Unit | undefined> => {
  const unit = await claimUnit(tx, wish)
  const gold = unit && (await claimGold(tx, deps, wish))
  if (!gold) return unit
  await updateUnitFreed(tx, unit)
  return gold
}

/** Takes the oldest unit that the person may do. */
export const workerClaim = (deps: WorkerDeps, { personId }: Person, wish: Wish) => {
  const { ctx } = deps
  return inTransaction(ctx, 'system', async (tx) => {
    const { workflowId: taskId, mode } = wish
    const who = await requireFree(tx, personId, mode)
    const { pausedUntil } = await findStanding(tx, { personId, mode, taskId })
    if (pausedUntil)
      throw new Refusal('order_conflict', {
        message: `Too many answers to known items were wrong. You may do this work again from ${pausedUntil.toISOString()}; you may also appeal one of them.`,
      })
    const unit = await take(tx, deps, { taskId, mode, personId })
    const order = unit && (await findOrder(tx, unit))
    if (!unit || !order?.terms)
      throw new Refusal('out_of_stock', {
        message: 'Nothing of this kind waits for you now. Somebody may have been faster.',
      })
    if (order.status === 'funded' && (await updateOrderBegun(tx, order)))
      await tellOrder(tx, order, 'in_progress')
    const assignmentId = tx.ids.make('asg_')
    const key = ctx.secrets.derive('worker')
    await insertAssignment(tx, {
      assignmentId,
      personId,
      unit,
      item: unit.item,
      taskId,
      rewardStars: order.terms.rewardStars,
      worker: workerOf(key, personId),
      challenge: challengeOf(key, assignmentId),
      minutes: claimMinutesOf(order.terms.estMinutes),
      flags: await flagsOf(tx, deps, unit, { ...who, address: wish.address }),
    })
    const made = await findAssignment(tx, assignmentId)
    if (!made) throw new Error('an assignment vanished')
    return showAssignment(tx, made)
  })
}
