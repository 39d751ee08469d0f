import type { Agent } from '../platform/call.ts'
import type { Ctx } from '../platform/context.ts'
import { inTransaction } from '../platform/db.ts'
import { Refusal } from '../platform/errors.ts'
import { findNonce, updateNonceUsed } from './store.ts'

type Attestation = {
  readonly method: string
  readonly nonce: string
  readonly subjectRef: string
  readonly evidence?: unknown
}

/** Uses the nonce up, whatever comes of it. No verifier is built yet, so no evidence is believed. */
export const attestVerify = async (ctx: Ctx, agent: Agent, input: Attestation) =>
  inTransaction(ctx, agent.agentId, async (tx) => {
    const key = { agentId: agent.agentId, purpose: 'attest', nonce: input.nonce } as const
    if (!(await updateNonceUsed(tx, key))) {
      const known = await findNonce(tx, key)
      throw new Refusal(known?.used_at ? 'nonce_used' : 'nonce_expired')
    }
    const reason = input.evidence === undefined ? 'evidence_missing' : 'method_not_supported_yet'
    return { attested: false, assurance: 'none' as const, reason }
  })
