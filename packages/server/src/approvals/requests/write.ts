import { canonicalJson, envelopeHash } from '@pohf/verify/approvals'
import { originOf } from '../../members/index.ts'
import type { Tx } from '../../platform/db/db.ts'
import { publish } from '../../platform/queue/outbox.ts'
import type { ApprovalsDeps } from '../deps.ts'
import { mailRequest } from '../mails.ts'
import { turnChallengeOf, type ApprovalKey } from '../rules.ts'
import { insertApproval, insertTurns } from '../store.ts'
import type { ResolvedRequest } from './resolve.ts'

type NewRequest = ResolvedRequest & {
  readonly requestHash: Buffer
  /** Why an administrator says that it should be denied; null for a real request. */
  readonly knownBad: string | null
}
/** Writes an approval with its turns, and tells the approvers. The agent is told too, unless the request is known-bad. */
export const writeApproval = async (
  tx: Tx,
  deps: ApprovalsDeps,
  key: ApprovalKey,
  { envelope, approvers, type, requestHash, knownBad }: NewRequest,
): Promise<void> => {
  const { ctx } = deps
  await insertApproval(tx, {
    ...key,
    // A known-bad request has its own id here, because a conflict with a request id of the agent would reveal it.
    requestId: knownBad === null ? envelope.requestId : key.approvalId,
    audience: envelope.audience,
    type: envelope.type,
    typeVersion: envelope.typeVersion,
    envelope: canonicalJson({ ...envelope }),
    envelopeHash: await envelopeHash(envelope),
    requestHash,
    approvers: envelope.approvers,
    quorum: envelope.policy.quorum,
    decideBy: new Date(envelope.decideBy),
    consumeBy: new Date(envelope.consumeBy),
    knownBad,
  })
  const [secret] = ctx.secrets.accepted('approval')
  await insertTurns(
    tx,
    key,
    envelope.approvers.map((approver) => ({ approver, challenge: turnChallengeOf(secret, key, approver) })),
  )
  await mailApprovers(tx, deps, key, { approvers, type })
  if (knownBad !== null) return
  await publish(tx, {
    agentId: key.agentId,
    mode: key.mode,
    subject: key.approvalId,
    type: 'approval.requested',
    data: {
      approvalId: key.approvalId,
      type: envelope.type,
      approvers: [...envelope.approvers],
      decideBy: envelope.decideBy,
      url: `${originOf(ctx.config).origin}/approve/${key.approvalId}`,
    },
  })
}

/** Mails the approvers. A mailbox that has reached its limit gets no mail; the person's page lists the approval anyway. */
const mailApprovers = async (
  tx: Tx,
  deps: ApprovalsDeps,
  { agentId, approvalId }: ApprovalKey,
  { approvers, type }: Pick<ResolvedRequest, 'approvers' | 'type'>,
): Promise<void> => {
  const agentName = (await deps.findAgentName(tx, agentId)) ?? agentId
  for (const { approver, email } of approvers)
    if (email !== undefined)
      await mailRequest(tx, deps.ctx, {
        agentId,
        to: email,
        approver,
        agentName,
        title: type?.title,
        approvalId,
      })
}
