import type { Ctx } from '../platform/ops/context.ts'
import type { Mode } from '@pohf/protocol'
import { inTransaction, type Tx } from '../platform/db/db.ts'
import { publish } from '../platform/queue/outbox.ts'
import { consumeMailToken } from './mail-token.ts'
import { updateEmailConfirmed } from './store.ts'

/** Confirms the address of an agent; false where it was confirmed before. */
export const confirmAddress = async (
  tx: Tx,
  { agent_id: agentId, mode }: { readonly agent_id: string; readonly mode: Mode },
): Promise<boolean> => {
  if (!(await updateEmailConfirmed(tx, agentId))) return false
  await publish(tx, {
    agentId,
    mode,
    type: 'agent.email_confirmed',
    subject: agentId,
    data: { agentId },
  })
  return true
}

/** Confirms the address that the token was mailed to. */
export const emailConfirm = async (ctx: Ctx, token: string) =>
  inTransaction(ctx, 'system', async (tx) => {
    const agent = await consumeMailToken(tx, 'confirm', token)
    await confirmAddress(tx, agent)
    return { agentId: agent.agent_id, confirmed: true as const }
  })
