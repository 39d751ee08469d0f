import { isId, type Mode } from '@pohf/protocol'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction, readNow, type Tx } from '../platform/db/db.ts'
import { microTasks, sampleTask, sampleToken, type MicroTask } from './items.ts'
import { makeTaskToken, tokenMinutes } from './token.ts'

/** Provided by the wiring: the mode of an agent, undefined where it does not exist. */
export type FindMode = (tx: Tx, agentId: string) => Promise<Mode | undefined>

const presentTask = (task: MicroTask, token: string, expiresAt: Date) => ({
  task: {
    id: task.id,
    kind: task.kind,
    prompt: task.prompt,
    ...(task.options ? { options: [...task.options] } : {}),
    estSeconds: task.estSeconds,
    rewardStars: task.rewardStars,
    token,
    expiresAt: expiresAt.toISOString(),
  },
})

const expiryOf = (at: Date): Date => new Date(at.getTime() + tokenMinutes * 60_000)

/** Chosen by the nonce, so that a caller cannot select a task. */
const chooseTask = (nonce: string): MicroTask => {
  const index = Buffer.from(nonce, 'base64url').readUInt32BE(0) % microTasks.length
  return microTasks[index] ?? sampleTask
}

/** A task for a visitor of the site, or the sample task where the site is not registered. */
export const tasksNext = async (ctx: Ctx, site: string | undefined, findMode: FindMode) => {
  const sample = () => presentTask(sampleTask, sampleToken, expiryOf(ctx.clock.now()))
  // A malformed id costs no database read.
  if (site === undefined || !isId('agt_', site)) return sample()
  const agentId = site as `agt_${string}`
  return inTransaction(ctx, agentId, async (tx) => {
    const mode = await findMode(tx, agentId)
    if (!mode) return sample()
    const nonce = ctx.ids.random()
    const task = chooseTask(nonce)
    const expiresAt = expiryOf(await readNow(tx))
    const grant = { agentId, mode, taskId: task.id, nonce, expiresAt }
    return presentTask(task, makeTaskToken(ctx, grant), expiresAt)
  })
}
