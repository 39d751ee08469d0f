import { readNow, type Tx } from '../../platform/db/db.ts'
import { findMember, type MemberKey, type MemberRow } from '../membership/store.ts'
import { findProofState, listValidProofs } from './store.ts'
import type { ValidProof } from './valid-proof.ts'

/**
 * The proofs of a member who has consented, whether or not they answered the questions: an approver needs no attention check
 * besides the one of each decision.
 */
export const listMemberProofs = async (tx: Tx, key: MemberKey): Promise<ValidProof[]> => {
  const member = await findMember(tx, key)
  const isMember = member?.status === 'consented' || member?.status === 'enrolled'
  return isMember && member.personId !== null
    ? listValidProofs(tx, member.personId, { agentId: key.agentId, at: await readNow(tx) })
    : []
}

/** The issuer with which a member has to sign in, and whether they have. */
export type Company = {
  readonly issuer: string
  readonly state: 'valid' | 'needed' | 'withdrawn'
  /** Until when the last sign-in counts; null where there is none. */
  readonly until: Date | null
}

/** The company of a member whom an owner invited by its sign-in; undefined for everybody else. */
export const findCompany = async (
  tx: Tx,
  { agentId, personId, requiredIssuer }: Pick<MemberRow, 'agentId' | 'personId' | 'requiredIssuer'>,
): Promise<Company | undefined> => {
  if (requiredIssuer === null) return undefined
  const issuer = requiredIssuer
  if (personId === null) return { issuer, state: 'needed', until: null }
  const valid = await listValidProofs(tx, personId, { agentId, at: await readNow(tx) })
  const { isWithdrawn, until } = await findProofState(tx, personId, issuer)
  if (isWithdrawn) return { issuer, state: 'withdrawn', until: null }
  return valid.some(({ name }) => name === issuer)
    ? { issuer, state: 'valid', until }
    : { issuer, state: 'needed', until: null }
}
