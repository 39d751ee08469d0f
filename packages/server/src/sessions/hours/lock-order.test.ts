import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { openRecorder } from '../../../test/fixtures/people/recorder.ts'
import { makeScoredSession } from '../../../test/fixtures/scored-session.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { updateSessionsClosed, updateSessionsScored } from '../closing/store.ts'
import { lockRecordings, type LockedRecording } from '../recording/store.ts'

const harness = await startHarness()
const first = await harness.register('test')
const second = await harness.register('test')
type Agent = typeof first
type Kind = 'view' | 'work'

const inSystem = <T>(work: Parameters<typeof inTransaction<T>>[2]) =>
  inTransaction(harness.ctx, 'system', work)
const open = async ({ agentId }: Agent, kind: Kind = 'view') =>
  (await openRecorder({ send: harness.call, site: agentId, kind })).sessionId

/** Closes sessions in one statement, in the order in which they are named. */
const close = (sessionIds: readonly string[]) =>
  inSystem(async (tx) => {
    const locked = new Map((await lockRecordings(tx, sessionIds)).map((one) => [one.sessionId, one]))
    const recordings = sessionIds.flatMap((id) => locked.get(id) ?? [])
    const telemetry = { alg: 'sha-256', link: 'l'.repeat(43), root: 'r'.repeat(43), n: 1 } as const
    await updateSessionsClosed(
      tx,
      recordings.map((recording) => ({ recording, telemetry, leaves: Buffer.alloc(32) })),
    )
    return recordings
  })

const score = (recordings: readonly LockedRecording[]) =>
  inSystem((tx) =>
    updateSessionsScored(
      tx,
      recordings.map((rowKey) => ({
        rowKey,
        quality: 0.2,
        verified: false,
        assurance: 'low',
        scoring: 'test',
        components: { focus: 1, probe: 0.75, input: null, gaze: null, device: null, history: null },
        flags: ['low'],
        reasons: ['quality_low'],
        evidence: [],
        salt: Buffer.alloc(32),
        counted: null,
      })),
    ),
  )

const remove = (sessionId: string) =>
  inSystem((tx) => sql`delete from sessions where session_id = ${sessionId}`.execute(tx))

const assertNoDeadlock = async () => {
  const { rows } = await harness.owner.query<{ deadlocks: string }>(
    'select deadlocks from pg_stat_database where datname = current_database()',
  )
  assert.equal(Number(rows[0]?.deadlocks), 0)
}

const rounds = Array.from({ length: 40 }, (_, round) => round)

test('batches that close sessions of the same agents do not deadlock', async () => {
  const batches: string[][] = []
  for (const round of rounds) {
    const ids = [await open(first), await open(second)]
    batches.push(round % 2 === 0 ? ids : ids.toReversed())
  }
  await Promise.all(batches.map(close))
  await assertNoDeadlock()
})

test('sessions of one agent that are stored, scored and deleted at the same time do not deadlock', async () => {
  const closed: LockedRecording[][] = []
  const old: string[] = []
  for (const round of rounds) {
    // Ids are in the order of time, and so are the rows of a batch.
    const kinds: readonly Kind[] = round % 2 === 0 ? ['view', 'work'] : ['work', 'view']
    const ids: string[] = []
    for (const kind of kinds) ids.push(await open(first, kind))
    closed.push(await close(ids))
    old.push((await makeScoredSession(harness, first, { flags: ['low'] })).sessionId)
  }
  await Promise.all(
    rounds.flatMap((round) => [
      score(closed[round] ?? []),
      makeScoredSession(harness, first, { verified: false, flags: ['low'], reasons: ['quality_low'] }),
      remove(old[round] ?? ''),
    ]),
  )
  await assertNoDeadlock()
})
