import { Answer, type Person } from '../../platform/http/call.ts'
import { inTransaction, readNow, type Tx } from '../../platform/db/db.ts'
import { listSessionsOfMember, ofMemberMax, readRecords, type Session } from '../../sessions/index.ts'
import type { MembersDeps } from '../membership/enrol.ts'
import { readBasics, shownMembership, shownSession } from './me.ts'
import { listMemberships, type MemberKey, type MemberRow } from '../store.ts'

/** 500,000 acts in one membership: nobody has so many. A bound all the same. */
const pagesMax = 1_000

/** The pieces of a JSON array, one item on a line. */
async function* arrayOf(items: AsyncIterable<unknown>): AsyncGenerator<string> {
  let before = '[\n'
  for await (const item of items) {
    yield `${before}${JSON.stringify(item)}`
    before = ',\n'
  }
  yield before === '[\n' ? '[]' : '\n]'
}

/** Every act of a membership, however many there are: a page at a time, each in a transaction of its own. */
async function* sessionsOf({ ctx }: MembersDeps, member: MemberKey): AsyncGenerator<Session> {
  let last: string | undefined
  for (let page = 0; page < pagesMax; page += 1) {
    const before = last
    const sessions = await inTransaction(ctx, 'system', (tx) => listSessionsOfMember(tx, member, before))
    yield* sessions
    last = sessions.at(-1)?.sessionId
    if (sessions.length < ofMemberMax) return
  }
}

async function* membershipsOf(deps: MembersDeps, members: readonly MemberRow[]): AsyncGenerator {
  for (const member of members) {
    const { agentId, mode, memberId } = member
    const [shown, besides] = await inTransaction(deps.ctx, 'system', async (tx) => [
      await shownMembership(tx, deps, member),
      await deps.tell(tx, { agentId, mode, memberId }),
    ])
    yield { ...shown, besides }
  }
}

async function* actsOf(deps: MembersDeps, members: readonly MemberKey[]): AsyncGenerator {
  for (const member of members)
    for await (const session of sessionsOf(deps, member))
      yield { memberId: member.memberId, ...shownSession(session) }
}

/** At most one recording, of four megabytes, is in memory. */
async function* recordingsOf(deps: MembersDeps, members: readonly MemberKey[]): AsyncGenerator {
  const { ctx } = deps
  for (const member of members)
    for await (const { sessionId } of sessionsOf(deps, member)) {
      const { agentId, mode } = member
      const opened = await inTransaction(ctx, 'system', (tx) =>
        readRecords(tx, ctx, { agentId, mode, sessionId }),
      )
      if (opened) yield { sessionId, records: opened.records }
    }
}

type Begun = {
  readonly exportedAt: string
  readonly basics: Awaited<ReturnType<typeof readBasics>>
  readonly members: readonly MemberRow[]
  /** By which names the person acted: the memberships, and what buyers of work know them by. */
  readonly acting: readonly MemberKey[]
  readonly work: readonly object[]
}
const begin = async (tx: Tx, { worked }: MembersDeps, personId: string): Promise<Begun> => {
  const members = await listMemberships(tx, personId)
  return {
    exportedAt: (await readNow(tx)).toISOString(),
    basics: await readBasics(tx, personId),
    members,
    acting: [...members, ...(await worked.places(tx, personId))],
    work: await worked.tell(tx, personId),
  }
}

async function* write(
  deps: MembersDeps,
  { exportedAt, basics, members, acting, work }: Begun,
): AsyncGenerator<string> {
  try {
    yield JSON.stringify({ format: 'pohf-person/2', exportedAt, ...basics, work }).slice(0, -1)
    yield ',\n"memberships": '
    yield* arrayOf(membershipsOf(deps, members))
    yield ',\n"sessions": '
    yield* arrayOf(actsOf(deps, acting))
    yield ',\n"recordings": '
    yield* arrayOf(recordingsOf(deps, acting))
    yield '\n}\n'
  } catch (error) {
    // The answer has begun: all that is left is to cut it off, which every reader of JSON notices.
    deps.ctx.log.error({ err: error }, 'an export was cut off')
    throw error
  }
}

/** Everything that is held of a person in one file, the recordings opened. It is sent while it is read. */
export const exportAll = async (deps: MembersDeps, { personId }: Person) => {
  const begun = await inTransaction(deps.ctx, 'system', (tx) => begin(tx, deps, personId))
  return new Answer(undefined, {
    stream: { mediaType: 'application/json; charset=utf-8', pieces: write(deps, begun) },
    headers: { 'content-disposition': 'attachment; filename="pohf-my-data.json"' },
  })
}
