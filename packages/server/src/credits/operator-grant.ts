import type { Mode } from '@pohf/protocol'
import { balanceOf } from '../ledger/index.ts'
import { inTransaction, type Tx } from '../platform/db/db.ts'
import type { Audit, Operator } from '../platform/http/call.ts'
import { Refusal } from '../platform/http/errors.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { publish } from '../platform/queue/outbox.ts'
import { postCredits } from './purchase.ts'
import { accounts } from './rules.ts'

export type GrantDeps = {
  readonly ctx: Ctx
  readonly audit: Audit
  /** Injected by the wiring: the agents module knows it. */
  readonly findMode: (tx: Tx, agentId: string) => Promise<Mode | undefined>
}
type Grant = {
  readonly agentId: string
  readonly credits: number
  readonly reference: string
  readonly reason: string
}

/** Grants credits without a payment, once for each reference of the agent. */
export const operatorGrant = ({ ctx, audit, findMode }: GrantDeps, operator: Operator, grant: Grant) =>
  inTransaction(ctx, 'system', async (tx) => {
    const { agentId, credits, reference, reason } = grant
    const mode = await findMode(tx, agentId)
    if (mode === undefined) throw new Refusal('not_found', { message: 'No such agent.' })
    const posting = await postCredits(tx, 'credit_grant', {
      agentId,
      mode,
      reference,
      credits: BigInt(credits),
    })
    const granted = posting.lines.find(({ account }) => account === accounts.grants)
    if (granted?.amount !== BigInt(-credits))
      throw new Refusal('idempotency_key_reused', {
        message: `This reference was granted before, for ${-(granted?.amount ?? 0n)} credits.`,
      })
    const account = { agentId, mode, account: accounts.balance, unit: 'credit' } as const
    const balance = Number(await balanceOf(tx, account))
    const { repeated } = posting
    if (repeated) return { agentId, mode, credits, balance, repeated }
    await publish(tx, {
      agentId,
      mode,
      type: 'credits.granted',
      subject: agentId,
      data: { balance, credits },
    })
    await audit(tx, {
      operatorId: operator.operatorId,
      action: 'credits.grant',
      target: agentId,
      details: { credits, reference, reason },
    })
    return { agentId, mode, credits, balance, repeated }
  })
