import type { Mode } from '@pohf/protocol'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { findSession } from '../../sessions/index.ts'
import type { UnitDeps, WorkerDeps } from '../deps.ts'
import { findOrder, updateOrderStarted, type OrderKey } from '../orders/store.ts'
import { publishOrderStatus } from '../orders/transitions.ts'
import { claimOnlyUnit } from '../units/queue/store.ts'
import { claimMinutesOf, sessionChallengeOf, simulatedWorker } from '../units/rules.ts'
import { commitDelivery } from './deliver.ts'
import { findAssignment, insertAssignment } from './store.ts'

export type SimulatedWorkerDeps = UnitDeps &
  Pick<WorkerDeps, 'mintWork'> & {
    readonly ctx: Ctx
    /** Stores the recording of an attentive simulated person. */
    readonly insertSimulatedWork: (
      tx: Tx,
      key: { readonly agentId: string; readonly mode: Mode; readonly sessionId: string },
      challenge: string,
    ) => Promise<void>
  }

type SimulatedClaim = { readonly key: OrderKey; readonly assignmentId: string; readonly sessionId: string }

/** The simulated worker claims the unit of an order, in the transaction that funds it: no person claims it first. */
export const claimSimulated = async (
  tx: Tx,
  { ctx, insertSimulatedWork }: SimulatedWorkerDeps,
  key: OrderKey,
): Promise<SimulatedClaim> => {
  const { agentId, mode, orderId } = key
  if (mode !== 'test')
    throw new Error(`order ${orderId} is ${mode}: the simulated worker has test orders only`)
  const unit = await claimOnlyUnit(tx, key)
  const order = await findOrder(tx, key)
  if (!unit?.taskId || !order?.terms) throw new Error(`order ${orderId} has no unit for the simulated worker`)
  if (await updateOrderStarted(tx, key)) await publishOrderStatus(tx, key, 'in_progress')
  const assignmentId = tx.ids.make('asg_')
  const sessionId = tx.ids.make('ses_')
  const challenge = sessionChallengeOf(ctx.secrets.derive('worker'), assignmentId)
  await insertSimulatedWork(tx, { agentId, mode, sessionId }, challenge)
  const { estMinutes, rewardStars, answerBy } = order.terms
  await insertAssignment(tx, {
    assignmentId,
    personId: null,
    unit,
    item: unit.item,
    knownItem: undefined,
    taskId: unit.taskId,
    rewardStars,
    worker: simulatedWorker,
    challenge,
    minutes: claimMinutesOf(estMinutes),
    dueAtLatest: answerBy,
    flags: [],
  })
  return { key, assignmentId, sessionId }
}

/** The simulated worker delivers an answer. */
export const deliverSimulated = async (
  deps: SimulatedWorkerDeps,
  { key, assignmentId, sessionId }: SimulatedClaim,
  answer: unknown,
): Promise<void> => {
  const { ctx, mintWork } = deps
  const { agentId, mode, orderId } = key
  const { session, assignment } = await inTransaction(ctx, 'system', async (tx) => ({
    session: await findSession(tx, { agentId, mode, sessionId }),
    assignment: await findAssignment(tx, assignmentId),
  }))
  if (!session || !assignment)
    throw new Error(`order ${orderId}: claim ${assignmentId} of the simulated worker not found`)
  const member = { agentId, mode, memberId: simulatedWorker }
  const workerSession = { ...session, memberRef: simulatedWorker }
  const signed = await mintWork.sign({
    agentId,
    mode,
    session: workerSession,
    member,
    personId: simulatedWorker,
  })
  await inTransaction(ctx, 'system', (tx) =>
    commitDelivery(
      tx,
      deps,
      { input: { answer }, assignment, session },
      { signed, workerRef: simulatedWorker },
    ),
  )
}
