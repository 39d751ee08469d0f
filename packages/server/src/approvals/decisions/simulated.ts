import { insertSimulatedSession } from '../../evidence/index.ts'
import { inTransaction, readNow } from '../../platform/db/db.ts'
import { findSession } from '../../sessions/index.ts'
import type { ApprovalsDeps } from '../deps.ts'
import { isSimulatedApprover, type ApprovalKey } from '../rules.ts'
import { findApprovalForUpdate, listTurns, type Turn } from '../store.ts'
import { commitDecision } from './commit.ts'
import { attendedDecisionOf } from './credential.ts'
import { findTurnApproval, type Decision } from './facts.ts'

/** A simulated approver has no passkey, and nobody enrolled them. */
const simulated = { member_id: '', enrolled_by: 'simulated', enrolled_way: 'in_console' } as const

const decisionOf = ({ mode, approver_id: approver }: Turn): Decision | undefined => {
  if (!isSimulatedApprover(mode, approver) || approver === 'apv_test_silent') return undefined
  return approver === 'apv_test_approves' ? 'approve' : 'deny'
}

/** Records, signs and commits the decision of one simulated approver. */
const decideOne = async (deps: ApprovalsDeps, turn: Turn, decision: Decision): Promise<void> => {
  const { ctx, mintApproval } = deps
  const begun = await inTransaction(ctx, 'system', async (tx) => {
    const invited_at = await readNow(tx)
    const own = await findTurnApproval(
      tx,
      { ...turn, ...simulated, invited_at },
      { isEnrolled: true, consentedAt: null, company: undefined },
    )
    if (own?.approval.status !== 'pending') return undefined
    const session = { ...own.key, sessionId: tx.ids.make('ses_') }
    await insertSimulatedSession(tx, session, {
      profile: 'human',
      kind: 'approval',
      challenge: turn.challenge,
    })
    return { own, session: await findSession(tx, session) }
  })
  if (!begun?.session) return
  const { own, session } = begun
  const signed = await mintApproval.sign(
    attendedDecisionOf(own, {
      decision,
      session,
      memberId: undefined,
      passkey: { key: 'unknown', model: undefined, createdAt: own.now },
    }),
  )
  if ('refusal' in signed) throw signed.refusal
  await inTransaction(ctx, 'system', async (tx) => {
    const locked = await findApprovalForUpdate(tx, own.key)
    if (locked?.status !== 'pending') return
    const minted = await mintApproval.write(tx, signed)
    if ('refusal' in minted) throw minted.refusal
    const { credentialId } = minted
    await commitDecision(tx, deps, own, { decision, words: undefined, session, credentialId })
  })
}

/** The decisions of the simulated approvers of a new approval in the sandbox. A live approval has none. */
export const decideSimulated = async (deps: ApprovalsDeps, key: ApprovalKey): Promise<void> => {
  if (key.mode !== 'test') return
  const turns = await inTransaction(deps.ctx, 'system', (tx) => listTurns(tx, key))
  for (const turn of turns) {
    const decision = decisionOf(turn)
    if (decision && turn.decision === null) await decideOne(deps, turn, decision)
  }
}
