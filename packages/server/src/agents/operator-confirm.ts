import { modes } from '@pohf/protocol'
import { inTransaction } from '../platform/db/db.ts'
import type { Audit, Operator } from '../platform/http/call.ts'
import { Refusal } from '../platform/http/errors.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { confirmAddress } from './email-confirm.ts'
import { platformAgentId } from './platform-agent.ts'
import { findAgent } from './store.ts'

type Confirmation = { readonly agentId: string; readonly reason: string }

/**
 * Confirms the address of an agent for its owner, where mail cannot. The platform agent stays without a confirmed
 * address, so that nobody can recover a key for it.
 */
export const operatorConfirm = async (ctx: Ctx, audit: Audit, operator: Operator, input: Confirmation) =>
  inTransaction(ctx, 'system', async (tx) => {
    const { agentId, reason } = input
    const isPlatform = modes.some((mode) => platformAgentId(ctx.config, mode) === agentId)
    const agent = isPlatform ? undefined : await findAgent(tx, agentId)
    if (!agent) throw new Refusal('not_found', { message: 'No such agent.' })
    if (await confirmAddress(tx, agent))
      await audit(tx, {
        operatorId: operator.operatorId,
        action: 'agent.confirm',
        target: agentId,
        details: { reason },
      })
    return { agentId, confirmed: true as const }
  })
