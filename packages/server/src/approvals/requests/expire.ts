import { inTransaction } from '../../platform/db/db.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { publishAll } from '../../platform/queue/outbox.ts'
import { updateApprovalsExpired } from '../store.ts'

const batchMax = 100

/**
 * Expires approvals that were not decided or consumed in time. Their requesters get an event, except for known-bad requests.
 */
export const expire = (ctx: Ctx): Promise<number> =>
  inTransaction(ctx, 'system', async (tx) => {
    const expired = await updateApprovalsExpired(tx, batchMax)
    await publishAll(
      tx,
      expired
        .filter(({ isKnownBad }) => !isKnownBad)
        .map(({ agentId, mode, approvalId }) => ({
          agentId,
          mode,
          subject: approvalId,
          type: 'approval.expired' as const,
          data: { approvalId },
        })),
    )
    return expired.length
  })
