import type { Person } from '../../platform/http/call.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { listSessionsOfMember, memberSessionsMax, type Session } from '../../sessions/index.ts'
import type { MembersDeps } from '../membership/enrol.ts'
import type { OfferedIssuer } from '../pages/issuer-part.ts'
import { sessionOwnersOf } from '../membership/session-owners.ts'
import { listConsents, listMemberships, type MemberRow } from '../membership/store.ts'
import { countRecoveryCodes, listPasskeys, listProofs } from './store.ts'

export const describeSession = (session: Session) => ({
  sessionId: session.sessionId,
  kind: session.kind,
  at: session.at.toISOString(),
  status: session.status,
  verified: session.verified,
  quality: session.quality,
  flags: [...session.flags],
  credentialId: session.credentialId,
})

export const describeMembership = async (tx: Tx, deps: Pick<MembersDeps, 'findName'>, member: MemberRow) => ({
  agentId: member.agentId,
  agentName: (await deps.findName(tx, member.agentId)) ?? null,
  mode: member.mode,
  memberId: member.memberId,
  externalRef: member.externalRef,
  status: member.status,
  uniqueness: member.uniqueness,
  methods: [...member.methods],
  checkedAt: member.attention?.at.toISOString() ?? null,
  quality: member.attention?.quality ?? null,
  goodChecks: member.good,
  failedChecks: member.bad,
  consents:
    member.consentRef === null
      ? []
      : (await listConsents(tx, member.consentRef)).map(({ at, act, version, language }) => ({
          at: at.toISOString(),
          act,
          version,
          language,
        })),
})

/** The data of a person except memberships and their sessions. */
export const readAccount = async (tx: Tx, personId: string) => ({
  passkeys: (await listPasskeys(tx, personId)).map((passkey) => ({
    id: passkey.credentialId,
    createdAt: passkey.createdAt.toISOString(),
    usedAt: passkey.usedAt.toISOString(),
    assurance: passkey.assurance,
    synced: passkey.synced,
    model: passkey.model ?? null,
  })),
  proofs: (await listProofs(tx, personId)).map((proof) => ({
    issuer: proof.issuer,
    issuerId: proof.issuer_id,
    kind: proof.kind,
    class: proof.source_class,
    level: proof.level,
    counted: proof.counted,
    checkedAt: proof.checked_at.toISOString(),
    expiresAt: proof.expires_at.toISOString(),
    withdrawn: proof.withdrawn_at !== null,
    countsNow: proof.counts_now,
  })),
  recoveryCodesLeft: await countRecoveryCodes(tx, personId),
})

/** The newest sessions of a membership, those of its agent and its attention checks together. */
const listNewestSessions = async (
  tx: Tx,
  { platformAgentOf }: Pick<MembersDeps, 'platformAgentOf'>,
  member: MemberRow,
): Promise<Session[]> => {
  const sessions: Session[] = []
  for (const owner of sessionOwnersOf(platformAgentOf, member))
    sessions.push(...(await listSessionsOfMember(tx, owner)))
  return sessions.toSorted((a, b) => (a.sessionId < b.sessionId ? 1 : -1)).slice(0, memberSessionsMax)
}

const issuersMax = 20

/** The issuers that the agents of a person accept, each once. */
const listOffered = async (
  tx: Tx,
  { issuers }: Pick<MembersDeps, 'issuers'>,
  members: readonly MemberRow[],
) => {
  const offered = new Map<string, OfferedIssuer>()
  for (const { agentId, memberId } of members)
    for (const { name, issuerId, lifeDays } of await issuers.list(tx, agentId))
      if (!offered.has(name)) offered.set(name, { name, issuerId, lifeDays, memberId })
  return [...offered.values()].slice(0, issuersMax)
}

/** All data of a person in chronological order; for each membership the newest sessions. */
export const readPerson = async (
  tx: Tx,
  deps: Pick<MembersDeps, 'findName' | 'platformAgentOf' | 'issuers'>,
  personId: string,
) => {
  const memberships = []
  const members = await listMemberships(tx, personId)
  for (const member of members)
    memberships.push({
      ...(await describeMembership(tx, deps, member)),
      sessions: (await listNewestSessions(tx, deps, member)).map(describeSession),
    })
  return {
    ...(await readAccount(tx, personId)),
    issuers: await listOffered(tx, deps, members),
    memberships,
  }
}
export type PersonData = Awaited<ReturnType<typeof readPerson>>

export const me = async (deps: MembersDeps, { personId }: Person) =>
  inTransaction(deps.ctx, 'system', (tx) => readPerson(tx, deps, personId))
