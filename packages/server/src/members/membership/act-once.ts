import type { Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { listProofCodes } from '../people/store.ts'
import { resolveMember } from './resolve-member.ts'
import { nullifierOf } from '../rules.ts'
import { findMember, insertNullifier } from './store.ts'

type Input = { readonly memberId: string; readonly action: string }

/** Allows one human an action once, whichever member they are at the time. The nullifier does not identify them. */
export const actOnce = async (ctx: Ctx, agent: Agent, { memberId, action }: Input) =>
  inTransaction(ctx, 'system', async (tx) => {
    const { agentId, mode } = agent
    const member = await resolveMember(tx, agent, memberId)
    if (!member) throw new Refusal('not_found', { message: 'No such member.' })
    if (member.status === 'refused')
      throw new Refusal('member_not_enrolled', {
        details: [{ path: 'path.memberId', code: member.reason, message: 'the member is not enrolled now' }],
      })
    const known = await findMember(tx, { agentId, mode, memberId })
    const person = known?.personId ?? `simulated ${memberId}`
    const proofs = known?.personId ? await listProofCodes(tx, known.personId) : []
    const key = ctx.secrets.derive('nullifier')
    const nullifier = nullifierOf(key, [agentId, mode, action, person])
    let first = await insertNullifier(tx, nullifier)
    // An external proof outlives an erasure: a person who erases everything and enrols again with it must not act twice.
    for (const { issuer, code_hash } of proofs) {
      const code = nullifierOf(key, [agentId, mode, action, 'proof', issuer, code_hash.toString('base64url')])
      first = (await insertNullifier(tx, code)) && first
    }
    return { action, first, nullifier: nullifier.toString('base64url') }
  })
