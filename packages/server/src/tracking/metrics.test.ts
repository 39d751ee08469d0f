import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/fixtures/harness.ts'
import { makeScoredSession } from '../../test/fixtures/scored-session.ts'

const harness = await startHarness()
const dayMs = 86_400_000
const read = (key: string, query = '') => harness.call('GET', `/api/agents/metrics${query}`, { key })

test('a fresh agent has an empty summary and no rows', async () => {
  const { apiKey } = await harness.register('live')
  const { status, json } = await read(apiKey)
  assert.equal(status, 200)
  const { since, until, ...figures } = json.summary
  assert.deepEqual(figures, { views: 0, verified: 0, rejected: 0, avgQuality: null, flags: {} })
  assert.equal(Date.parse(until) - Date.parse(since), 7 * dayMs)
  assert.deepEqual(json.rows, [])
  assert.equal(json.nextCursor, null)
  assert.equal(json.hasMore, false)
})

test('every view is a row with its scores and its credential; the summary counts them all', async () => {
  const agent = await harness.register('test')
  const sealed = await makeScoredSession(harness, agent, {
    credentialId: 'crd_x',
    sessionId: 'any text of theirs',
  })
  const bot = await makeScoredSession(harness, agent, {
    verified: false,
    quality: 0.1,
    flags: ['replay', 'no_focus'],
  })
  await makeScoredSession(harness, agent, { kind: 'work' })
  const { json } = await read(agent.apiKey)
  assert.deepEqual(json.summary.flags, { no_focus: 1, replay: 1 })
  assert.equal(json.summary.views, 2)
  assert.equal(json.summary.verified, 1)
  assert.equal(json.summary.rejected, 1)
  assert.equal(json.summary.avgQuality, 0.5)
  assert.deepEqual(json.rows, [
    {
      sessionId: sealed.sessionId,
      credentialId: 'crd_x',
      at: json.rows[0].at,
      focus: 1,
      probe: 0.75,
      input: null,
      gaze: null,
      quality: 0.9,
      flags: [],
    },
    {
      ...json.rows[1],
      sessionId: bot.sessionId,
      credentialId: null,
      quality: 0.1,
      flags: ['replay', 'no_focus'],
    },
  ])
})

test('following nextCursor shows every view once, oldest first, also where instants are equal', async () => {
  const agent = await harness.register('live')
  const made: string[] = []
  for (let n = 0; n < 7; n++) made.push((await makeScoredSession(harness, agent)).sessionId)
  await harness.owner.query("update sessions set at = date_trunc('second', at) where agent_id = $1", [
    agent.agentId,
  ])
  const seen: string[] = []
  let cursor = ''
  let pages = 0
  for (; pages < 10; pages++) {
    const { json } = await read(agent.apiKey, `?limit=2${cursor}`)
    assert.equal(json.summary.views, 7)
    seen.push(...json.rows.map((row: { sessionId: string }) => row.sessionId))
    assert.equal(json.hasMore, json.nextCursor !== null)
    if (!json.hasMore) break
    cursor = `&cursor=${json.nextCursor}`
  }
  assert.equal(pages, 3)
  assert.deepEqual(seen.toSorted(), made.toSorted())
})

test('since is inclusive, takes a date, and a cursor continues beyond the default window', async () => {
  const agent = await harness.register('live')
  await makeScoredSession(harness, agent)
  await makeScoredSession(harness, agent)
  const first = await read(agent.apiKey, '?limit=1')
  const { at } = first.json.rows[0]
  assert.equal((await read(agent.apiKey, `?since=${at}`)).json.rows.length, 2)
  const after = new Date(Date.parse(at) + 1).toISOString()
  assert.ok((await read(agent.apiKey, `?since=${after}`)).json.rows.length < 2)
  assert.equal((await read(agent.apiKey, '?since=2020-01-01')).json.rows.length, 2)
  await harness.advance(8 * dayMs)
  assert.equal((await read(agent.apiKey)).json.rows.length, 0)
  const later = await read(agent.apiKey, `?cursor=${first.json.nextCursor}`)
  assert.equal(later.json.rows.length, 1)
})

test('a window at the limits of time is 200', async () => {
  const { apiKey } = await harness.register('live')
  for (const since of [
    '0000-01-01T00:00:00%2B23:59',
    '9999-12-31T23:59:59-23:59',
    '0000-01-01',
    '9999-12-31',
  ]) {
    assert.equal((await read(apiKey, `?since=${since}`)).status, 200, since)
    const funnel = await harness.call('GET', `/api/agents/metrics/funnel?since=${since}`, { key: apiKey })
    assert.equal(funnel.status, 200, since)
  }
})

test('limits and formats out of bounds are 400 with the path', async () => {
  const { apiKey } = await harness.register('live')
  const refused: [string, string][] = [
    ['?limit=0', 'query.limit'],
    ['?limit=1001', 'query.limit'],
    ['?limit=10001&format=csv', 'query.limit'],
    ['?limit=ten', 'query.limit'],
    ['?since=yesterday', 'query.since'],
    ['?format=xml', 'query.format'],
    ['?cursor=zzz', 'query.cursor'],
    [`?cursor=${Buffer.from('[1]').toString('base64url')}`, 'query.cursor'],
    [`?cursor=${Buffer.from('[-1,"a"]').toString('base64url')}`, 'query.cursor'],
    [`?cursor=${Buffer.from('[1,"\\u0000"]').toString('base64url')}`, 'query.cursor'],
  ]
  for (const [query, path] of refused) {
    const answer = await read(apiKey, query)
    assert.equal(answer.status, 400, query)
    assert.equal(answer.json.error, 'validation_failed')
    assert.equal(answer.json.details[0].path, path)
  }
  assert.equal((await read(apiKey, '?limit=1000')).status, 200)
  assert.equal((await read(apiKey, '?limit=10000&format=csv')).status, 200)
})

test('CSV has the fixed columns, CRLF, safe cells, and a cursor for more', async () => {
  const agent = await harness.register('test')
  await makeScoredSession(harness, agent, { sessionId: '=HYPERLINK("http://x","y")', flags: ['a', 'b'] })
  await makeScoredSession(harness, agent, { sessionId: 'plain', credentialId: 'crd_1' })
  const answer = await read(agent.apiKey, '?format=csv&limit=1')
  assert.equal(answer.status, 200)
  assert.equal(answer.headers['content-type'], 'text/csv; charset=utf-8; header=present')
  assert.equal(answer.headers['cache-control'], 'no-store')
  const [head, row, end] = answer.text.split('\r\n')
  assert.equal(head, 'sessionId,credentialId,at,focus,probe,input,gaze,quality,flags')
  assert.match(row ?? '', /^"'=HYPERLINK\(""http:\/\/x"",""y""\)",,\d{4}-[^,]+,1,0\.75,,,0\.9,a;b$/)
  assert.equal(end, '')
  const next = await read(agent.apiKey, `?format=csv&cursor=${answer.headers['x-next-cursor']}`)
  assert.match(next.text, /\r\nplain,crd_1,/)
  assert.equal(next.headers['x-next-cursor'], undefined)
})

/** Cells as a spreadsheet reads them, by RFC 4180. */
const cellsOf = (text: string): string[][] => {
  const lines: string[][] = [[]]
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|$)/g)) {
    lines.at(-1)?.push(quoted === undefined ? (plain ?? '') : quoted.replaceAll('""', '"'))
    if (end === '\r\n') lines.push([])
  }
  return lines.filter((cells) => cells.length > 1)
}

test('a spreadsheet reads every text of a CSV as it was, and none as a formula', async () => {
  const agent = await harness.register('test')
  const plain = ['größe "groß"', 'one, two', 'first\r\nsecond', '"', "'quoted"]
  const formulas = ['=1+1', '+1', '-1', '@sum', '\t=1', '\r=1', '\n=1', '＝1+1', '＋1', '－1', '＠sum']
  for (const sessionId of [...plain, ...formulas]) await makeScoredSession(harness, agent, { sessionId })
  const { text } = await read(agent.apiKey, '?format=csv')
  assert.equal(text.codePointAt(0), 's'.codePointAt(0), 'no byte order mark')
  const [head, ...rows] = cellsOf(text)
  assert.ok(rows.every((cells) => cells.length === head?.length))
  assert.deepEqual(
    new Set(rows.map(([sessionId]) => sessionId)),
    new Set([...plain, ...formulas.map((formula) => `'${formula}`)]),
  )
})

const idsOf = (text: string) =>
  text
    .split('\r\n')
    .slice(1, -1)
    .map((line) => line.split(',')[0])

test('a long CSV comes in pieces: every row once, in order, up to the cursor', async () => {
  const agent = await harness.register('live')
  await harness.owner.query(
    `insert into sessions (agent_id, session_id, at, mode, kind, status)
     select $1, 'ses_' || lpad(i::text, 5, '0'), date_trunc('second', pohf_now()) - interval '1 hour' + i / 7 * interval '1 ms', 'live', 'view', 'expired'
     from generate_series(1, 2500) i`,
    [agent.agentId],
  )
  const first = await read(agent.apiKey, '?format=csv&limit=2300')
  const rest = await read(agent.apiKey, `?format=csv&limit=2300&cursor=${first.headers['x-next-cursor']}`)
  assert.equal(rest.headers['x-next-cursor'], undefined)
  assert.deepEqual([idsOf(first.text).length, idsOf(rest.text).length], [2_300, 200])
  assert.deepEqual(
    [...idsOf(first.text), ...idsOf(rest.text)],
    Array.from({ length: 2_500 }, (_, n) => `ses_${String(n + 1).padStart(5, '0')}`),
  )
})

test('no row of another agent is ever shown', async () => {
  const agent = await harness.register('live')
  const other = await harness.register('live')
  await makeScoredSession(harness, other)
  const { json } = await read(agent.apiKey, '?since=2020-01-01')
  assert.equal(json.summary.views, 0)
  assert.deepEqual(json.rows, [])
})
