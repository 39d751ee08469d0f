import type { Tx } from '../../platform/db/db.ts'
import type { Agent } from '../../platform/http/call.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { claimBinding, findBindingAllowance } from '../store.ts'

export type AllowanceDeps = {
  readonly ctx: Ctx
  /** Injected by the wiring: the agents module knows it. */
  readonly isEmailConfirmed: (tx: Tx, agentId: string) => Promise<boolean>
}

const allowanceUsed = (limit: number, resetsAt: Date, now: Date): Refusal => {
  const seconds = Math.max(1, Math.ceil((resetsAt.getTime() - now.getTime()) / 1_000))
  const message = `The ${limit} live bindings of this month are used. The next month begins at ${resetsAt.toISOString()}.`
  return new Refusal('rate_limited', {
    message,
    headers: { 'retry-after': String(seconds) },
    details: [{ path: 'bindings', code: 'monthly_allowance', message }],
  })
}

/**
 * Refuses a live binding of an agent without a confirmed address, or without allowance. A binding costs no credit, so
 * without this limit anybody could mint without end.
 */
export const requireAllowance = async (
  tx: Tx,
  { ctx, isEmailConfirmed }: AllowanceDeps,
  { agentId, mode }: Agent,
): Promise<void> => {
  if (mode === 'test') return
  if (!(await isEmailConfirmed(tx, agentId))) throw new Refusal('email_not_confirmed')
  const limit = ctx.config.BINDINGS_PER_MONTH
  const { used, resetsAt, now } = await findBindingAllowance(tx, agentId)
  if (used >= limit) throw allowanceUsed(limit, resetsAt, now)
}

/** Counts a live binding in the transaction that mints it. Of two concurrent last bindings, the second is refused. */
export const spendAllowance = async (
  tx: Tx,
  { ctx }: AllowanceDeps,
  { agentId, mode }: Agent,
): Promise<void> => {
  if (mode === 'test') return
  const limit = ctx.config.BINDINGS_PER_MONTH
  if (await claimBinding(tx, agentId, limit)) return
  const { resetsAt, now } = await findBindingAllowance(tx, agentId)
  throw allowanceUsed(limit, resetsAt, now)
}
