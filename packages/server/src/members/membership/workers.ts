import type { Tx } from '../../platform/db/db.ts'
import { resolveMember } from './resolve-member.ts'
import { listMemberships, type MemberKey } from './store.ts'

/** The memberships with which a person may work: enrolled, with a recent attention check. */
export const listEligibleMemberships = async (tx: Tx, personId: string): Promise<MemberKey[]> => {
  const workable: MemberKey[] = []
  for (const { agentId, mode, memberId, status } of await listMemberships(tx, personId)) {
    if (status !== 'enrolled') continue
    const member = await resolveMember(tx, { agentId, mode }, memberId)
    if (member?.status === 'enrolled') workable.push({ agentId, mode, memberId })
  }
  return workable
}
