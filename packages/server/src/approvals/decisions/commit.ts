import type { ApprovalState } from '@pohf/protocol'
import type { Tx } from '../../platform/db/db.ts'
import { publish } from '../../platform/queue/outbox.ts'
import type { Session } from '../../sessions/index.ts'
import type { ApprovalsDeps } from '../deps.ts'
import { inViewSecondsOf, type Decision, type OwnApproval } from './facts.ts'
import { readingSeconds } from '../effectiveness/rules.ts'
import { valueHashesOf } from './rules.ts'
import { insertValues, updateApproved, updateDenied, updateTurnDecided } from './store.ts'

type MadeDecision = {
  readonly decision: Decision
  readonly words: string | undefined
  /** Verified; undefined where a person denied without attention. */
  readonly session: Session | undefined
  readonly credentialId: string | null
}

const moveApproval = async (tx: Tx, own: OwnApproval, decision: Decision): Promise<ApprovalState> => {
  const { key, turn, envelope } = own
  if (decision === 'approve') return updateApproved(tx, key, envelope.policy.delaySeconds)
  await updateDenied(tx, key, { withdrawn: turn.decision === 'approve' })
  return 'denied'
}

/**
 * Writes a decision in the transaction of its credential. The caller has locked the approval and checked every refusal. A
 * known-bad request changes its status like a real one, but its agent gets no event, and its values are not remembered.
 */
export const commitDecision = async (
  tx: Tx,
  { ctx }: Pick<ApprovalsDeps, 'ctx'>,
  own: OwnApproval,
  made: MadeDecision,
): Promise<ApprovalState> => {
  const { key, turn, approval, view, viewHash } = own
  const { decision, words, session, credentialId } = made
  const approverId = turn.approver_id
  await updateTurnDecided(
    tx,
    { ...key, approverId },
    {
      decision,
      words,
      viewHash,
      session,
      credentialId,
      inViewSeconds: session?.counted ? inViewSecondsOf(session) : null,
      readingSeconds: readingSeconds(view),
      quality: session?.quality ?? null,
    },
  )
  const status = await moveApproval(tx, own, decision)
  if (decision === 'approve' && approval.knownBad === null) {
    const approver = { agentId: key.agentId, mode: key.mode, approverId }
    const values = valueHashesOf(ctx.secrets.derive('approver-value'), approver, view)
    await insertValues(
      tx,
      approver,
      values.map(({ hash }) => hash),
    )
  }
  const { agentId, mode, approvalId } = key
  if (approval.knownBad === null)
    await publish(tx, {
      agentId,
      mode,
      subject: approvalId,
      type: 'approval.decided',
      data: { approvalId, approver: approverId, decision, credentialId, status },
    })
  return status
}
