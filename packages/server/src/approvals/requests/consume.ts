import { inTransaction, readNow } from '../../platform/db/db.ts'
import type { Agent } from '../../platform/http/call.ts'
import { checkRefusals, type Refusals } from '../../platform/http/refusals.ts'
import { publishAll } from '../../platform/queue/outbox.ts'
import type { ApprovalsDeps } from '../deps.ts'
import { presentApproval } from '../present.ts'
import { approvalConflict, noSuchApproval, statusAt } from '../rules.ts'
import { findApproval, findApprovalOfAudience, updateApprovalConsumed, type Approval } from '../store.ts'

type Input = { readonly approvalId: string; readonly envelopeHash: string }

type Facts = { readonly approval: Approval; readonly envelopeHash: string; readonly now: Date }
const conflict = (code: string, message: string) => approvalConflict('path.approvalId', code, message)

/** Why an approval was not consumed. The update decides; this list says why it did not. */
const consumeRefusals: Refusals<Facts> = [
  [
    'the envelope is not the one that was approved',
    ({ approval, envelopeHash }) =>
      approval.envelopeHash === envelopeHash
        ? undefined
        : approvalConflict('body.envelopeHash', 'envelope_hash', 'this approval has another envelope'),
  ],
  [
    'it was consumed',
    ({ approval }) =>
      approval.status === 'consumed' ? conflict('consumed', 'it was consumed already') : undefined,
  ],
  [
    'it was denied',
    ({ approval }) => (approval.status === 'denied' ? conflict('denied', 'it was denied') : undefined),
  ],
  [
    'its time is over',
    ({ approval, now }) =>
      statusAt(approval, now) === 'expired' ? conflict('expired', 'its time is over') : undefined,
  ],
  [
    'it waits for decisions',
    ({ approval }) =>
      approval.status === 'pending' ? conflict('pending', 'it waits for decisions') : undefined,
  ],
  [
    'it waits for its delay',
    ({ approval, now }) =>
      approval.consumableAt === null || approval.consumableAt > now
        ? conflict('delay', `it can be consumed from ${approval.consumableAt?.toISOString() ?? 'later'} on`)
        : undefined,
  ],
]

/** Uses an approval, once, by the key of its audience. One conditional update: of any number of calls at once, one succeeds. */
export const consume = (deps: ApprovalsDeps, agent: Agent, { approvalId, envelopeHash }: Input) =>
  inTransaction(deps.ctx, 'system', async (tx) => {
    const { agentId: audience, mode } = agent
    const known = await findApprovalOfAudience(tx, { audience, mode, approvalId })
    if (!known || known.knownBad !== null) throw noSuchApproval()
    const isConsumed = await updateApprovalConsumed(tx, known, { audience, envelopeHash })
    const approval = (await findApproval(tx, known)) ?? known
    if (!isConsumed) {
      checkRefusals(consumeRefusals, { approval, envelopeHash, now: await readNow(tx) })
      throw new Error(`approval ${approvalId} was not consumed by ${audience}, and no refusal says why`)
    }
    await publishAll(
      tx,
      [...new Set([approval.agentId, audience])].map((agentId) => ({
        agentId,
        mode,
        subject: approvalId,
        type: 'approval.consumed' as const,
        data: { approvalId, audience },
      })),
    )
    return presentApproval(tx, deps, approval)
  })
