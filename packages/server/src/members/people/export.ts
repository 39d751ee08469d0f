import { ApiResponse, type Person } from '../../platform/http/call.ts'
import { inTransaction, readNow, type Tx } from '../../platform/db/db.ts'
import { listSessionsOfMember, memberSessionsMax, readRecords, type Session } from '../../sessions/index.ts'
import type { MembersDeps } from '../membership/enrol.ts'
import { readAccount, describeMembership, describeSession } from './me.ts'
import { sessionOwnersOf } from '../membership/session-owners.ts'
import { listMemberships, type MemberKey, type MemberRow } from '../membership/store.ts'

/** 500,000 sessions in one membership: a bound that nobody reaches. */
const pagesMax = 1_000

/** Writes a JSON array in pieces, one item per line. */
async function* jsonArrayOf(items: AsyncIterable<unknown>): AsyncGenerator<string> {
  let before = '[\n'
  for await (const item of items) {
    yield `${before}${JSON.stringify(item)}`
    before = ',\n'
  }
  yield before === '[\n' ? '[]' : '\n]'
}

/** All sessions of a membership, page by page, each in its own transaction. */
async function* sessionsOf({ ctx }: MembersDeps, member: MemberKey): AsyncGenerator<Session> {
  let last: string | undefined
  for (let page = 0; page < pagesMax; page += 1) {
    const before = last
    const sessions = await inTransaction(ctx, 'system', (tx) => listSessionsOfMember(tx, member, before))
    yield* sessions
    last = sessions.at(-1)?.sessionId
    if (sessions.length < memberSessionsMax) return
  }
}

async function* exportMemberships(deps: MembersDeps, members: readonly MemberRow[]): AsyncGenerator {
  for (const member of members) {
    const { agentId, mode, memberId } = member
    const [membership, besides] = await inTransaction(deps.ctx, 'system', async (tx) => [
      await describeMembership(tx, deps, member),
      await deps.exportMember(tx, { agentId, mode, memberId }),
    ])
    yield { ...membership, besides }
  }
}

type OwnedSession = { readonly session: Session; readonly owner: MemberKey }

/** The sessions of all keys, newest first: their order does not tell which agent owns a recording. */
async function* allSessionsOf(
  deps: MembersDeps,
  members: readonly MemberKey[],
): AsyncGenerator<OwnedSession> {
  const streams = await Promise.all(
    members.map(async (owner) => {
      const sessions = sessionsOf(deps, owner)
      return { owner, sessions, next: await sessions.next() }
    }),
  )
  for (;;) {
    const newest = streams
      .filter(({ next }) => next.done !== true)
      .toSorted((a, b) => (String(a.next.value?.sessionId) < String(b.next.value?.sessionId) ? 1 : -1))[0]
    if (!newest || newest.next.done === true) return
    yield { session: newest.next.value, owner: newest.owner }
    newest.next = await newest.sessions.next()
  }
}

async function* exportSessions(deps: MembersDeps, members: readonly MemberKey[]): AsyncGenerator {
  for await (const { session, owner } of allSessionsOf(deps, members))
    yield { memberId: owner.memberId, ...describeSession(session) }
}

/** At most one recording (four megabytes) is in memory. */
async function* exportRecordings(deps: MembersDeps, members: readonly MemberKey[]): AsyncGenerator {
  const { ctx } = deps
  for await (const { session, owner } of allSessionsOf(deps, members)) {
    const { agentId, mode } = owner
    const { sessionId } = session
    const opened = await inTransaction(ctx, 'system', (tx) =>
      readRecords(tx, ctx, { agentId, mode, sessionId }),
    )
    if (opened) yield { sessionId, records: opened.records }
  }
}

type ExportData = {
  readonly personId: string
  readonly exportedAt: string
  readonly basics: Awaited<ReturnType<typeof readAccount>>
  readonly members: readonly MemberRow[]
  /** Under these the person's sessions are stored: the memberships, and the keys by which buyers of work know them. */
  readonly actingKeys: readonly MemberKey[]
  readonly work: readonly object[]
  readonly payoutAccounts: readonly object[]
}
const loadExport = async (
  tx: Tx,
  { completedWork, platformAgentOf }: MembersDeps,
  personId: string,
): Promise<ExportData> => {
  const members = await listMemberships(tx, personId)
  return {
    personId,
    exportedAt: (await readNow(tx)).toISOString(),
    basics: await readAccount(tx, personId),
    members,
    actingKeys: [
      ...members.flatMap((member) => sessionOwnersOf(platformAgentOf, member)),
      ...(await completedWork.listMemberKeys(tx, personId)),
    ],
    work: await completedWork.exportPerson(tx, personId),
    payoutAccounts: await completedWork.exportPayoutAccounts(tx, personId),
  }
}

async function* writeExport(
  deps: MembersDeps,
  { personId, exportedAt, basics, members, actingKeys: acting, work, payoutAccounts }: ExportData,
): AsyncGenerator<string> {
  try {
    yield JSON.stringify({ format: 'pohf-person/2', exportedAt, ...basics, work, payoutAccounts }).slice(
      0,
      -1,
    )
    yield ',\n"memberships": '
    yield* jsonArrayOf(exportMemberships(deps, members))
    yield ',\n"sessions": '
    yield* jsonArrayOf(exportSessions(deps, acting))
    yield ',\n"recordings": '
    yield* jsonArrayOf(exportRecordings(deps, acting))
    yield '\n}\n'
  } catch (error) {
    // The response has begun, so it can only be cut off; the JSON is then invalid and the client notices.
    deps.ctx.log.error({ err: error, personId, memberships: members.length }, 'person export aborted')
    throw error
  }
}

/**
 * Exports all data of a person as one file (GDPR, articles 15 and 20), with decrypted recordings. It is streamed while it is
 * read.
 */
export const exportAll = async (deps: MembersDeps, { personId }: Person) => {
  const exportData = await inTransaction(deps.ctx, 'system', (tx) => loadExport(tx, deps, personId))
  return new ApiResponse(undefined, {
    stream: { mediaType: 'application/json; charset=utf-8', pieces: writeExport(deps, exportData) },
    headers: { 'content-disposition': 'attachment; filename="pohf-my-data.json"' },
  })
}
