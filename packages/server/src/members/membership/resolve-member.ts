import type { Mode } from '@pohf/protocol'
import { readNow, type Tx } from '../../platform/db/db.ts'
import { attentionDaysMax, simulatedMember, type Member } from '../rules.ts'
import { findMember, lockMember, type MemberRow } from './store.ts'

const externalPrefix = 'external:'
const proofOf = ({ methods, personId }: MemberRow) => {
  const method = methods.find((one) => one.startsWith(externalPrefix))
  return method === undefined || personId === null
    ? undefined
    : { issuer: method.slice(externalPrefix.length), human: personId }
}

/** Finds a member as its agent may see it; undefined when there is none. */
export const resolveMember = async (
  tx: Tx,
  agent: { readonly agentId: string; readonly mode: Mode },
  memberId: string,
): Promise<Member | undefined> => {
  const found = await findMember(tx, { agentId: agent.agentId, mode: agent.mode, memberId })
  if (!found) return agent.mode === 'test' ? simulatedMember(memberId) : undefined
  if (found.status !== 'enrolled') return { status: 'refused', reason: found.status }
  const { attention, passkeyAssurance, consentedAt } = found
  if (!attention || !passkeyAssurance || !consentedAt) {
    const missing = Object.entries({ attention, passkeyAssurance, consentedAt }).filter(([, value]) => !value)
    throw new Error(
      `member ${memberId} of agent ${agent.agentId} is enrolled without ${missing.map(([name]) => name).join(', ')}`,
    )
  }
  const ageMs = (await readNow(tx)).getTime() - attention.at.getTime()
  if (ageMs > attentionDaysMax * 86_400_000) return { status: 'refused', reason: 'attention_too_old' }
  return {
    status: 'enrolled',
    simulated: false,
    methods: found.methods,
    uniqueness: found.uniqueness,
    attention,
    passkey: { assurance: passkeyAssurance, at: consentedAt },
    proof: proofOf(found),
  }
}

/** The same for a transaction that writes about the member: a withdrawal or an erasure is before it or waits. */
export const resolveLockedMember = async (
  tx: Tx,
  agent: { readonly agentId: string; readonly mode: Mode },
  memberId: string,
): Promise<Member | undefined> => {
  await lockMember(tx, { agentId: agent.agentId, mode: agent.mode, memberId })
  return resolveMember(tx, agent, memberId)
}
