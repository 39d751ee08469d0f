import type { Mode } from '@pohf/protocol'
import type { Tx } from '../../platform/db/db.ts'
import { forgetEvents, publish } from '../../platform/queue/outbox.ts'
import { forgetSession, listSessionsOfMember } from '../../sessions/index.ts'
import { forgetDeliveries } from '../../webhooks/index.ts'
import {
  deleteMember,
  deletePerson,
  listMemberships,
  lockPerson,
  type MemberKey,
  type MemberRow,
} from '../store.ts'

/** Handed down by app.ts: what the modules above hold of a member, and delete. */
type Forget = (
  tx: Tx,
  erased: {
    readonly agentId: string
    readonly mode: Mode
    readonly memberId: string
    readonly sessionIds: readonly string[]
  },
) => Promise<void>

/** Handed down by app.ts: what a person did for buyers of work, at whichever agents. */
export type Worked = {
  /** By which names buyers know the person: recordings stand under them. */
  readonly places: (tx: Tx, personId: string) => Promise<readonly MemberKey[]>
  /** For the person's file. */
  readonly tell: (tx: Tx, personId: string) => Promise<readonly object[]>
  readonly forget: (tx: Tx, personId: string) => Promise<void>
}
export type Erasure = { readonly forget: readonly Forget[]; readonly worked: Worked }

/** More than this in one membership, and a second pass takes the rest. */
const passesMax = 100

/** What was recorded under one name of a person. */
const eraseActs = async (tx: Tx, forget: readonly Forget[], member: MemberKey): Promise<void> => {
  const { agentId, mode, memberId } = member
  for (let pass = 0; pass < passesMax; pass += 1) {
    const sessions = await listSessionsOfMember(tx, member)
    const sessionIds = sessions.map(({ sessionId }) => sessionId)
    for (const one of forget) await one(tx, { agentId, mode, memberId, sessionIds })
    for (const { sessionId, at } of sessions) await forgetSession(tx, { agentId, mode, sessionId, at })
    if (sessions.length === 0) break
  }
}

const eraseMember = async (tx: Tx, forget: readonly Forget[], member: MemberRow): Promise<void> => {
  const { agentId, mode, memberId } = member
  await eraseActs(tx, forget, member)
  await forgetDeliveries(tx, member, await forgetEvents(tx, agentId, memberId))
  await deleteMember(tx, member)
  await publish(tx, { agentId, mode, subject: memberId, type: 'member.erased', data: { memberId } })
}

/** Deletes a person: keys, salts, recordings, passkeys, logins and every membership. Credentials keep verifying. */
export const erasePerson = async (tx: Tx, { forget, worked }: Erasure, personId: string): Promise<number> => {
  await lockPerson(tx, personId)
  const memberships = await listMemberships(tx, personId)
  for (const member of memberships) await eraseMember(tx, forget, member)
  for (const place of await worked.places(tx, personId)) await eraseActs(tx, forget, place)
  await worked.forget(tx, personId)
  await deletePerson(tx, personId)
  return memberships.length
}
