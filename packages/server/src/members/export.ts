import { Answer } from '../platform/call.ts'
import { inTransaction, readNow } from '../platform/db.ts'
import { readRecords } from '../sessions/index.ts'
import type { MembersDeps } from './enrol.ts'
import { requireSignedIn, type FromPage } from './login.ts'
import { readPerson } from './me.ts'

/** So many of the newest recordings go into one file; a recording is at most a few megabytes. */
const recordingsMax = 50

/** Everything that is held of a person in one file, the recordings opened. */
export const exportAll = async (deps: MembersDeps, page: FromPage) =>
  inTransaction(deps.ctx, 'system', async (tx) => {
    const held = await readPerson(tx, deps, await requireSignedIn(tx, page))
    const recordings = []
    const acts = held.memberships.flatMap(({ agentId, mode, sessions }) =>
      sessions.map(({ sessionId }) => ({ agentId, mode, sessionId })),
    )
    for (const act of acts.slice(0, recordingsMax)) {
      const opened = await readRecords(tx, deps.ctx, act)
      if (opened) recordings.push({ sessionId: act.sessionId, records: opened.records })
    }
    const besides = []
    for (const { agentId, mode, memberId } of held.memberships)
      besides.push({ memberId, ...(await deps.tell(tx, { agentId, mode, memberId })) })
    const exportedAt = (await readNow(tx)).toISOString()
    const text = `${JSON.stringify({ format: 'pohf-person/1', exportedAt, ...held, besides, recordings }, null, 2)}\n`
    return new Answer(undefined, {
      raw: { mediaType: 'application/json; charset=utf-8', text },
      headers: { 'content-disposition': 'attachment; filename="pohf-my-data.json"' },
    })
  })
