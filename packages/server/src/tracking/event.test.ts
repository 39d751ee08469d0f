import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeViewToken } from '../sessions/index.ts'
import { startHarness } from '../../test/fixtures/harness.ts'
import { makeScoredSession } from '../../test/fixtures/scored-session.ts'
import { leastStatements } from '../../test/fixtures/plans/statements.ts'

const harness = await startHarness()
const agent = await harness.register('live')

const beacon = (body: unknown, headers: Record<string, string> = {}) =>
  harness.call('POST', '/api/track/event', { body, headers })
const storedOf = async (sessionId: string) => {
  const { rows } = await harness.owner.query(
    'select type, client_event_id, client_at, path, props, seq from track_events where session_id = $1 order by seq',
    [sessionId],
  )
  return rows
}
const counted = async (outcome: string): Promise<number> => {
  const { values } = await harness.ctx.metrics.beacons.get()
  return values.find(({ labels }) => labels['outcome'] === outcome)?.value ?? 0
}
const dayMs = 86_400_000

test('a beacon of a verified view is stored, as one object or as an array', async () => {
  const { vt, sessionId } = await makeScoredSession(harness, agent)
  const first = await beacon({ vt, type: 'pageview', path: '/shop?mail=a@b.c#x', ts: '2026-02-03T04:05:06Z' })
  assert.equal(first.status, 200)
  assert.deepEqual(first.json, { ok: true, recorded: 1 })
  const second = await beacon([
    { vt, event: 'scroll', props: { depth: 0.5, deep: { a: 1 }, on: true, none: null } },
    { vt, name: 'click', ts: 1_770_000_000_000 },
    { vt },
  ])
  assert.deepEqual(second.json, { ok: true, recorded: 3 })
  const rows = await storedOf(sessionId)
  assert.deepEqual(
    rows.map((row) => [row.seq, row.type]),
    [
      [1, 'pageview'],
      [2, 'scroll'],
      [3, 'click'],
      [4, 'unnamed'],
    ],
  )
  assert.equal(rows[0].path, '/shop')
  assert.equal(rows[0].client_at.toISOString(), '2026-02-03T04:05:06.000Z')
  assert.deepEqual(rows[1].props, { depth: 0.5, on: true, none: null })
})

test('any JSON is answered 200, whatever its form and under whatever media type', async () => {
  for (const raw of ['{}', '[]', '1', '"x"', 'null', 'true', '[1,[],{"a":{}}]', '{"vt":5,"type":[]}', '']) {
    for (const type of [
      'application/json',
      'text/plain;charset=UTF-8',
      'application/x-www-form-urlencoded',
    ]) {
      const answer = await harness.call('POST', '/api/track/event', {
        raw,
        headers: { 'content-type': type },
      })
      assert.equal(answer.status, 200, `${raw} as ${type}: ${answer.text}`)
      assert.deepEqual(answer.json, { ok: true, recorded: 0 })
    }
  }
})

test('what is not JSON or nests too deep is 400, and what is over 64 KB is 413', async () => {
  const deep = await harness.call('POST', '/api/track/event', {
    raw: `${'['.repeat(30_000)}${']'.repeat(30_000)}`,
  })
  assert.equal(deep.status, 400)
  assert.equal(deep.json.error, 'invalid_json')
  const broken = await harness.call('POST', '/api/track/event', { raw: '{"vt":' })
  assert.equal(broken.status, 400)
  assert.equal(broken.json.error, 'invalid_json')
  const large = await harness.call('POST', '/api/track/event', { raw: JSON.stringify('x'.repeat(65_536)) })
  assert.equal(large.status, 413)
  const fits = await harness.call('POST', '/api/track/event', { raw: JSON.stringify('x'.repeat(65_534)) })
  assert.equal(fits.status, 200)
})

test('a browser of any site may send it, and cookies are neither set nor read', async () => {
  const { vt } = await makeScoredSession(harness, agent)
  const headers = { origin: 'https://shop.example', cookie: 'id=1', 'content-type': 'text/plain' }
  const answer = await beacon({ vt, type: 'landed' }, headers)
  assert.deepEqual(answer.json, { ok: true, recorded: 1 })
  assert.equal(answer.headers['access-control-allow-origin'], 'https://shop.example')
  assert.equal(answer.headers['set-cookie'], undefined)
})

test('a forged token is counted, stores nothing and costs no statement', async () => {
  const { vt, sessionId } = await makeScoredSession(harness, agent)
  const strangersKey = { ids: harness.ctx.ids, secrets: { accepted: () => [Buffer.alloc(32)] as const } }
  const other = makeViewToken(strangersKey, { ...agent, sessionId, viewedAt: new Date() })
  const before = await counted('forged')
  const cut = `${vt.slice(0, -1)}${vt.endsWith('A') ? 'B' : 'A'}`
  const rounds = 3
  const used = await leastStatements(
    harness,
    async () => {
      const answer = await beacon([{ vt: other }, { vt: cut.replace('vt_', 'vt_x') }, { vt: 'vt_' }, {}])
      assert.deepEqual(answer.json, { ok: true, recorded: 0 })
    },
    rounds,
  )
  assert.equal(used, 0)
  assert.equal(await counted('forged'), before + 4 * rounds)
  assert.deepEqual(await storedOf(sessionId), [])
})

test('a token of no view, of a rejected view or of another act stores nothing', async () => {
  const nowhere = makeViewToken(harness.ctx, { ...agent, sessionId: 'ses_nowhere', viewedAt: new Date() })
  const rejected = await makeScoredSession(harness, agent, { verified: false, quality: 0.1 })
  const work = await makeScoredSession(harness, agent, { kind: 'work' })
  const before = await counted('unknown')
  for (const vt of [nowhere, rejected.vt, work.vt]) assert.equal((await beacon({ vt })).json.recorded, 0)
  assert.equal(await counted('unknown'), before + 3)
})

test('an event id counts once per view, also within one body and from 20 calls at once', async () => {
  const { vt, sessionId } = await makeScoredSession(harness, agent)
  const twin = await makeScoredSession(harness, agent)
  const body = { vt, type: 'click', eventId: 'e1' }
  const answers = await Promise.all(Array.from({ length: 20 }, () => beacon(body)))
  assert.equal(
    answers.reduce((sum, { json }) => sum + json.recorded, 0),
    1,
  )
  const again = await beacon([body, { vt, eventId: 'e2' }, { vt, eventId: 'e2' }])
  assert.equal(again.json.recorded, 1)
  assert.equal((await beacon({ ...body, vt: twin.vt })).json.recorded, 1)
  assert.equal((await storedOf(sessionId)).length, 2)
})

test('text is sanitized and truncated, never refused', async () => {
  const { vt, sessionId } = await makeScoredSession(harness, agent)
  const nasty = 'a\u0000b\ud800c'
  const answer = await beacon({
    vt,
    type: nasty.repeat(50),
    eventId: nasty,
    path: `/${nasty}${'x'.repeat(5_000)}`,
    ts: 'yesterday',
    props: { [nasty]: nasty, long: '\u{1f600}'.repeat(500), big: 1e308 },
  })
  assert.deepEqual(answer.json, { ok: true, recorded: 1 })
  const [row] = await storedOf(sessionId)
  assert.equal(row.type.length, 64)
  assert.equal(row.client_event_id, 'ab\ufffdc')
  assert.equal(row.path.length, 512)
  assert.equal(row.client_at, null)
  assert.equal(row.props['ab\ufffdc'], 'ab\ufffdc')
  assert.equal(row.props.long.length, 256)
})

test('a view sends at most 60 beacons a minute, and a body at most 100', async () => {
  const { vt } = await makeScoredSession(harness, agent)
  const many = Array.from({ length: 150 }, (_, n) => ({ vt, eventId: `n${n}` }))
  const before = await counted('limited')
  assert.equal((await beacon(many)).json.recorded, 60)
  assert.equal((await counted('limited')) - before, 40)
  assert.equal((await beacon({ vt })).json.recorded, 0)
  await harness.advance(60_000)
  assert.equal((await beacon({ vt })).json.recorded, 1)
})

test('a view holds 500 beacons and no more, also under load', async () => {
  const { vt, sessionId } = await makeScoredSession(harness, agent)
  const sixty = Array.from({ length: 60 }, () => ({ vt, type: 'scroll' }))
  for (let minute = 0; minute < 8; minute++) {
    assert.equal((await beacon(sixty)).json.recorded, 60)
    await harness.advance(60_000)
  }
  const last = await Promise.all(Array.from({ length: 40 }, () => beacon({ vt })))
  assert.equal(
    last.reduce((sum, { json }) => sum + json.recorded, 0),
    20,
  )
  assert.equal((await storedOf(sessionId)).length, 500)
})

test('a body that mixes more than ten views is served for ten', async () => {
  const views = await Promise.all(Array.from({ length: 12 }, () => makeScoredSession(harness, agent)))
  assert.equal((await beacon(views.map(({ vt }) => ({ vt })))).json.recorded, 10)
})

test('a site sends at most its beacons of a minute, and other sites are not affected', async () => {
  const limited = await startHarness({ BEACONS_PER_MINUTE: '60' })
  const [busy, quiet] = [await limited.register('live'), await limited.register('live')]
  const send = async (owner: typeof busy, count: number) => {
    const { vt } = await makeScoredSession(limited, owner)
    const body = Array.from({ length: count }, () => ({ vt }))
    return (await limited.call('POST', '/api/track/event', { body })).json.recorded
  }
  assert.deepEqual([await send(busy, 50), await send(busy, 50), await send(quiet, 50)], [50, 10, 50])
})

test('one submission that cannot be stored fails alone, and the others of its batch are stored', async () => {
  const views = await Promise.all(Array.from({ length: 12 }, () => makeScoredSession(harness, agent)))
  const other = await harness.register('live')
  const theirs = await makeScoredSession(harness, other)
  const [bad] = views
  await harness.owner.query(
    `create function refuse_one() returns trigger language plpgsql as $$ begin
       if new.session_id = '${bad?.sessionId}' then raise exception 'refused by the test'; end if; return new; end $$;
     create trigger refuse_one before insert on track_events for each row execute function refuse_one()`,
  )
  const answers = await Promise.all([...views, theirs].map(({ vt }) => beacon({ vt, type: 'click' })))
  await harness.owner.query('drop trigger refuse_one on track_events; drop function refuse_one')
  assert.deepEqual(
    answers.map(({ status }) => status),
    [500, ...Array.from({ length: 12 }, () => 200)],
  )
  for (const { sessionId } of views.slice(1)) assert.equal((await storedOf(sessionId)).length, 1)
  const { rows } = await harness.owner.query('select agent_id from track_events where session_id = $1', [
    theirs.sessionId,
  ])
  assert.deepEqual(rows, [{ agent_id: other.agentId }])
  assert.equal((await beacon({ vt: bad?.vt, type: 'click' })).json.recorded, 1)
})

test('2,000 forged tokens leave no row and cost no statement', async () => {
  const { vt, sessionId } = await makeScoredSession(harness, agent)
  const used = await leastStatements(harness, async () => {
    for (let n = 0; n < 20; n++) {
      const body = Array.from({ length: 100 }, (_, k) => ({
        vt: `${vt.slice(0, -5)}${String(n * 100 + k).padStart(5, '0')}`,
      }))
      assert.equal((await beacon(body)).json.recorded, 0)
    }
  })
  assert.equal(used, 0)
  assert.deepEqual(await storedOf(sessionId), [])
})

test('a JSON blob is let through after its preflight, and a refusal can be read by the page, too', async () => {
  const origin = 'https://shop.example'
  const preflight = await harness.call('OPTIONS', '/api/track/event', {
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'content-type',
    },
  })
  assert.equal(preflight.status, 204)
  assert.match(preflight.headers['access-control-allow-headers'] ?? '', /content-type/i)
  const { vt } = await makeScoredSession(harness, agent)
  const json = await beacon({ vt, type: 'dwell' }, { origin, 'content-type': 'application/json' })
  assert.deepEqual(json.json, { ok: true, recorded: 1 })
  const large = await beacon('x'.repeat(65_536), { origin, 'content-type': 'text/plain' })
  assert.equal(large.status, 413)
  for (const { headers } of [preflight, json, large]) {
    assert.equal(headers['access-control-allow-origin'], origin)
    assert.equal(headers['access-control-allow-credentials'], 'true')
    assert.match(headers['vary'] ?? '', /origin/i)
  }
})

test('columns exist only for what the page sent: no address, no user agent', async () => {
  const { rows } = await harness.owner.query(
    'select column_name from information_schema.columns where table_name = \'track_events\' order by column_name collate "C"',
  )
  assert.deepEqual(
    rows.map((row) => row.column_name),
    [
      'agent_id',
      'at',
      'client_at',
      'client_event_id',
      'first_engagement',
      'mode',
      'page',
      'path',
      'props',
      'segment',
      'seq',
      'session_id',
      'type',
      'viewed_at',
    ],
  )
})

test('a token works for 30 days and then stores nothing; its counters are deleted, its beacons stay', async () => {
  const { vt, sessionId } = await makeScoredSession(harness, agent)
  await harness.advance(29 * dayMs)
  // The claim was made in another month perhaps, and still holds.
  assert.equal((await beacon({ vt, eventId: 'late' })).json.recorded, 1)
  assert.equal((await beacon({ vt, eventId: 'late' })).json.recorded, 0)
  await harness.advance(dayMs + 2_000)
  const before = await counted('expired')
  assert.equal((await beacon({ vt, eventId: 'later' })).json.recorded, 0)
  assert.equal(await counted('expired'), before + 1)
  await harness.advance(6 * dayMs)
  await harness.runJobs()
  const { rowCount } = await harness.owner.query('select from track_views where session_id = $1', [sessionId])
  assert.equal(rowCount, 0)
  assert.equal((await storedOf(sessionId)).length, 1)
})
