import type { Mode } from '@pohf/protocol'
import { readNow, type Tx } from '../../platform/db/db.ts'
import { listValidProofs } from '../people/store.ts'
import type { ValidProof } from '../people/valid-proof.ts'
import {
  attentionDaysMax,
  proofPrefix,
  simulatedMember,
  uniquenessOf,
  type Member,
  type Uniqueness,
} from '../rules.ts'
import { findMember, lockMember, type MemberRow } from './store.ts'

type Proven = {
  readonly methods: readonly string[]
  readonly uniqueness: Uniqueness
  readonly proofs: readonly ValidProof[]
}
/** What the proofs say that count now: neither expired nor withdrawn. Most members have none, and their methods say so. */
const findProven = async (
  tx: Tx,
  { agentId, methods, uniqueness, personId, passkeyAssurance }: MemberRow,
  at: Date,
): Promise<Proven> => {
  if (personId === null || !methods.some((method) => method.startsWith(proofPrefix)))
    return { methods, uniqueness, proofs: [] }
  const proofs = await listValidProofs(tx, personId, { agentId, at })
  // The passkeys themselves are hidden from the transaction of an agent; the best of them says the same.
  const passkeys = passkeyAssurance === null ? [] : [passkeyAssurance]
  return {
    methods: [
      ...methods.filter((method) => !method.startsWith(proofPrefix)),
      ...proofs.map(({ name }) => `${proofPrefix}${name}`),
    ],
    uniqueness: uniquenessOf(passkeys, proofs),
    proofs,
  }
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
  const now = await readNow(tx)
  const ageMs = now.getTime() - attention.at.getTime()
  if (ageMs > attentionDaysMax * 86_400_000) return { status: 'refused', reason: 'attention_too_old' }
  return {
    status: 'enrolled',
    simulated: false,
    ...(await findProven(tx, found, now)),
    attention,
    passkey: { assurance: passkeyAssurance, at: consentedAt },
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
