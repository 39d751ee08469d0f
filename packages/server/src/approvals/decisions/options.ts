import { createHash } from 'node:crypto'
import { decisionChallenge } from '@pohf/verify/approvals'
import { originOf } from '../../members/index.ts'
import { inTransaction } from '../../platform/db/db.ts'
import type { Person } from '../../platform/http/call.ts'
import { checkAndNarrow } from '../../platform/http/refusals.ts'
import type { ApprovalsDeps } from '../deps.ts'
import { decisionRefusals, isDeviceBound, loadFacts, narrowDecision, type DecisionInput } from './facts.ts'
import { challengeMinutes } from './rules.ts'
import { insertChallenge } from './store.ts'

export const nonceHashOf = (nonce: string): Buffer => createHash('sha256').update(nonce).digest()

/** The WebAuthn options of a decision. The challenge covers the action, what was shown, the decision and its recording. */
export const options = async (deps: ApprovalsDeps, { personId }: Person, input: DecisionInput) => {
  const { ctx } = deps
  return inTransaction(ctx, 'system', async (tx) => {
    const facts = await loadFacts(tx, deps, personId, input)
    const { own, session, passkeys } = checkAndNarrow(decisionRefusals, facts, narrowDecision)
    const { key, turn, approval, envelope } = own
    const nonce = ctx.ids.random()
    const telemetryLink = session?.telemetry?.link ?? ''
    const challenge = await decisionChallenge({
      envelopeHash: approval.envelopeHash,
      viewHash: own.viewHash,
      decision: input.decision,
      approver: turn.approver_id,
      nonce,
      telemetryLink,
    })
    const expiresAt = await insertChallenge(tx, {
      ...key,
      approverId: turn.approver_id,
      nonceHash: nonceHashOf(nonce),
      challenge,
      decision: input.decision,
      viewHash: own.viewHash,
      sessionId: session?.sessionId,
    })
    const isStrict = input.decision === 'approve' && envelope.policy.passkey === 'device_bound'
    const usable = isStrict ? passkeys.filter(isDeviceBound) : passkeys
    return {
      publicKey: {
        challenge,
        rpId: originOf(ctx.config).rpId,
        timeout: challengeMinutes * 60_000,
        userVerification: 'required',
        allowCredentials: usable.map(({ credentialId }) => ({ type: 'public-key', id: credentialId })),
      },
      nonce,
      telemetryLink,
      expiresAt: expiresAt.toISOString(),
    }
  })
}
