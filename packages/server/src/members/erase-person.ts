import type { Mode } from '@pohf/protocol'
import type { Tx } from '../platform/db.ts'
import { forgetEvents, publish } from '../platform/outbox.ts'
import { forgetSession, listSessionsOfMember } from '../sessions/index.ts'
import { forgetDeliveries } from '../webhooks/index.ts'
import { deleteMember, deletePerson, listMemberships, lockPerson, type MemberRow } from './store.ts'

/** Handed down by app.ts: what the modules above hold of a member, and delete. */
export type Forget = (
  tx: Tx,
  erased: {
    readonly agentId: string
    readonly mode: Mode
    readonly memberId: string
    readonly sessionIds: readonly string[]
  },
) => Promise<void>

/** More than this in one membership, and a second pass takes the rest. */
const passesMax = 100

const eraseMember = async (tx: Tx, forget: readonly Forget[], member: MemberRow): Promise<void> => {
  const { agentId, mode, memberId } = member
  for (let pass = 0; pass < passesMax; pass += 1) {
    const sessions = await listSessionsOfMember(tx, member)
    const sessionIds = sessions.map(({ sessionId }) => sessionId)
    for (const one of forget) await one(tx, { agentId, mode, memberId, sessionIds })
    for (const { sessionId, at } of sessions) await forgetSession(tx, { agentId, mode, sessionId, at })
    if (sessions.length === 0) break
  }
  await forgetDeliveries(tx, member, await forgetEvents(tx, agentId, memberId))
  await deleteMember(tx, member)
  await publish(tx, { agentId, mode, subject: memberId, type: 'member.erased', data: { memberId } })
}

/** Deletes a person: keys, salts, recordings, passkeys, logins and every membership. Credentials keep verifying. */
export const erasePerson = async (tx: Tx, forget: readonly Forget[], personId: string): Promise<number> => {
  await lockPerson(tx, personId)
  const memberships = await listMemberships(tx, personId)
  for (const member of memberships) await eraseMember(tx, forget, member)
  await deletePerson(tx, personId)
  return memberships.length
}
