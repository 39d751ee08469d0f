import type { Mode } from '@pohf/protocol'
import type { Tx } from '../../platform/db/db.ts'
import { eraseResponses } from '../../platform/db/idempotency.ts'
import { enqueue, eraseEvents, publish, type OutboxRow } from '../../platform/queue/outbox.ts'
import { deleteRequests } from '../../issuers/index.ts'
import { eraseSession, listSessionsOfMember } from '../../sessions/index.ts'
import { eraseDeliveries } from '../../webhooks/index.ts'
import { sessionOwnersOf, type PlatformAgentOf } from '../membership/session-owners.ts'
import { deleteMember, listMemberships, type MemberKey, type MemberRow } from '../membership/store.ts'
import { deletePerson, insertTombstones, lockPerson } from './store.ts'

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
type CompletedWork = {
  /** The member keys under which buyers know the person; recordings are stored under them. */
  readonly listMemberKeys: (tx: Tx, personId: string) => Promise<readonly MemberKey[]>
  /** For the person's export. */
  readonly exportPerson: (tx: Tx, personId: string) => Promise<readonly object[]>
  readonly exportPayoutAccounts: (tx: Tx, personId: string) => Promise<readonly object[]>
  readonly erasePerson: (tx: Tx, personId: string) => Promise<void>
}
export type Erasure = {
  /** How long the code of a human who was erased is no second person. */
  readonly tombstoneDays: number
  readonly erasers: readonly EraseMemberData[]
  readonly completedWork: CompletedWork
  readonly platformAgentOf: PlatformAgentOf
}

/** Each pass erases one page of sessions. */
const passesMax = 100

/** Erases the sessions recorded under one member key, and the stored responses to requests that named one of them. */
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
    await eraseResponses(tx, agentId, [memberId, ...sessionIds])
    if (sessions.length === 0) break
  }
}

/** Erases what is stored about a member besides the membership. */
const eraseMemberData = async (
  tx: Tx,
  { erasers, platformAgentOf }: Erasure,
  member: MemberKey,
): Promise<void> => {
  const { agentId, memberId } = member
  for (const key of sessionOwnersOf(platformAgentOf, member)) await eraseSessions(tx, erasers, key)
  await eraseDeliveries(tx, member, await eraseEvents(tx, agentId, memberId))
}

/**
 * A call or job that read data of the member before the erasure may write it afterwards. All of them end within this time,
 * and then the erasure runs again.
 */
const secondErasureSeconds = 600

const enqueueSecondErasure = (tx: Tx, { agentId, mode, memberId }: MemberKey): Promise<void> =>
  enqueue(tx, {
    agentId,
    topic: 'erasure',
    payload: { mode, memberId },
    delaySeconds: secondErasureSeconds,
  })

/** Erases one membership and tells its agent. */
export const eraseMember = async (tx: Tx, erasure: Erasure, member: MemberRow): Promise<void> => {
  const { agentId, mode, memberId, externalRef } = member
  await eraseMemberData(tx, erasure, member)
  if (externalRef !== null) await eraseResponses(tx, agentId, [externalRef])
  await deleteMember(tx, member)
  await publish(tx, { agentId, mode, subject: memberId, type: 'member.erased', data: { memberId } })
  await enqueueSecondErasure(tx, member)
}

/** The second erasure of members, by their rows in the outbox. */
export const eraseAgain = async (tx: Tx, erasure: Erasure, rows: readonly OutboxRow[]): Promise<void> => {
  for (const { agentId, payload } of rows) {
    const { mode, memberId } = payload as { mode: Mode; memberId: string }
    await eraseMemberData(tx, erasure, { agentId, mode, memberId })
  }
}

/**
 * Deletes a person (GDPR, article 17): keys, salts, recordings, passkeys, logins and every membership. Credentials keep
 * verifying.
 */
export const erasePerson = async (tx: Tx, erasure: Erasure, personId: string): Promise<number> => {
  const { erasers, completedWork, tombstoneDays } = erasure
  await lockPerson(tx, personId)
  const memberships = await listMemberships(tx, personId)
  for (const member of memberships) await eraseMember(tx, erasure, member)
  for (const key of await completedWork.listMemberKeys(tx, personId)) {
    await eraseSessions(tx, erasers, key)
    await enqueueSecondErasure(tx, key)
  }
  await completedWork.erasePerson(tx, personId)
  await eraseResponses(tx, 'system', [personId])
  await insertTombstones(tx, personId, tombstoneDays)
  await deleteRequests(tx, personId)
  await deletePerson(tx, personId)
  return memberships.length
}
