import type { Mode } from '@pohf/protocol'
import type { Tx } from '../../platform/db/db.ts'
import { eraseEvents, publish } from '../../platform/queue/outbox.ts'
import { eraseSession, listSessionsOfMember } from '../../sessions/index.ts'
import { eraseDeliveries } from '../../webhooks/index.ts'
import { deleteMember, listMemberships, type MemberKey, type MemberRow } from '../membership/store.ts'
import { deletePerson, lockPerson } from './store.ts'

/** Injected by the wiring: erases data of a member in another module. */
type EraseMemberData = (
  tx: Tx,
  erased: {
    readonly agentId: string
    readonly mode: Mode
    readonly memberId: string
    readonly sessionIds: readonly string[]
  },
) => Promise<void>

/** Injected by the wiring: the work of a person for buyers, at any agents. */
export type CompletedWork = {
  /** The member keys under which buyers know the person; recordings are stored under them. */
  readonly listMemberKeys: (tx: Tx, personId: string) => Promise<readonly MemberKey[]>
  /** For the person's export. */
  readonly exportPerson: (tx: Tx, personId: string) => Promise<readonly object[]>
  readonly erasePerson: (tx: Tx, personId: string) => Promise<void>
}
export type Erasure = { readonly erasers: readonly EraseMemberData[]; readonly completedWork: CompletedWork }

/** Each pass erases one page of sessions. */
const passesMax = 100

/** Erases the sessions recorded under one member key. */
const eraseSessions = async (
  tx: Tx,
  erasers: readonly EraseMemberData[],
  member: MemberKey,
): Promise<void> => {
  const { agentId, mode, memberId } = member
  for (let pass = 0; pass < passesMax; pass += 1) {
    const sessions = await listSessionsOfMember(tx, member)
    const sessionIds = sessions.map(({ sessionId }) => sessionId)
    for (const one of erasers) await one(tx, { agentId, mode, memberId, sessionIds })
    for (const { sessionId, at } of sessions) await eraseSession(tx, { agentId, mode, sessionId, at })
    if (sessions.length === 0) break
  }
}

const eraseMember = async (tx: Tx, erasers: readonly EraseMemberData[], member: MemberRow): Promise<void> => {
  const { agentId, mode, memberId } = member
  await eraseSessions(tx, erasers, member)
  await eraseDeliveries(tx, member, await eraseEvents(tx, agentId, memberId))
  await deleteMember(tx, member)
  await publish(tx, { agentId, mode, subject: memberId, type: 'member.erased', data: { memberId } })
}

/** Deletes a person: keys, salts, recordings, passkeys, logins and every membership. Credentials keep verifying. */
export const erasePerson = async (
  tx: Tx,
  { erasers, completedWork }: Erasure,
  personId: string,
): Promise<number> => {
  await lockPerson(tx, personId)
  const memberships = await listMemberships(tx, personId)
  for (const member of memberships) await eraseMember(tx, erasers, member)
  for (const key of await completedWork.listMemberKeys(tx, personId)) await eraseSessions(tx, erasers, key)
  await completedWork.erasePerson(tx, personId)
  await deletePerson(tx, personId)
  return memberships.length
}
