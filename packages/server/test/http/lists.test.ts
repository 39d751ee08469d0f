// What holds for every list of an agent.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listIssued } from '../../src/credentials/issued/store.ts'
import { inTransaction, type Tx } from '../../src/platform/db/db.ts'
import type { PageScan } from '../../src/platform/http/list-page.ts'
import { listRequests } from '../../src/requests/store.ts'
import { listSessions } from '../../src/sessions/store.ts'
import { startHarness } from '../fixtures/harness.ts'
import { seedList, type ListName, type SeededRows } from '../fixtures/lists/rows.ts'

const harness = await startHarness()
type Agent = Awaited<ReturnType<typeof harness.register>>
type Row = Readonly<Record<string, unknown>>
type Page = { readonly rows: readonly Row[]; readonly nextCursor: string | null }

const idFields = { credentials: 'credentialId', sessions: 'sessionId', requests: 'requestId' } as const
const names = Object.keys(idFields) as ListName[]
const dayMs = 86_400_000

const get = (list: ListName, agent: Agent, query: Readonly<Record<string, string>> = {}) =>
  harness.call('GET', `/api/agents/${list}?${new URLSearchParams(query).toString()}`, { key: agent.apiKey })

const readPage = async (
  list: ListName,
  agent: Agent,
  query: Readonly<Record<string, string>>,
): Promise<Page> => {
  const answer = await get(list, agent, query)
  assert.equal(answer.status, 200, answer.text)
  assert.equal(answer.json.hasMore, answer.json.nextCursor !== null)
  return { rows: answer.json[list], nextCursor: answer.json.nextCursor }
}

/** The ids of a list, page by page. `between` runs after the first page. */
const readIds = async (
  list: ListName,
  agent: Agent,
  query: Readonly<Record<string, string>>,
  between: () => Promise<unknown> = async () => undefined,
) => {
  const ids: string[] = []
  let cursor: string | null = null
  let pages = 0
  do {
    const page: Page = await readPage(list, agent, cursor === null ? query : { ...query, cursor })
    ids.push(...page.rows.map((row) => String(row[idFields[list]])))
    cursor = page.nextCursor
    if (pages === 0) await between()
    pages += 1
  } while (cursor !== null && pages < 1_000)
  return { ids, pages }
}

/** The calls of a test are in the list of requests, too: what is seeded is older than the test. */
const makeSeed = async (mode: 'live' | 'test' = 'test') => {
  const agent = await harness.register(mode)
  const newest = new Date(Date.now() - 60_000)
  const until = new Date(newest.getTime() + 1_000).toISOString()
  const seed = (list: ListName, rows: Partial<SeededRows> & { readonly count: number }) =>
    seedList(harness.owner, list, { agentId: agent.agentId, mode, newest, stepMs: 7, ...rows })
  return { agent, newest, until, seed }
}

const refusesCursor = async (list: ListName, agent: Agent, query: Readonly<Record<string, string>>) => {
  const answer = await get(list, agent, query)
  assert.equal(answer.status, 400, answer.text)
  assert.equal(answer.json.error, 'validation_failed')
  assert.equal(answer.json.details[0].path, 'query.cursor')
}

for (const list of names) {
  test(`${list}: pages hold every row once, newest first, also rows of the same time`, async () => {
    const { agent, until, seed } = await makeSeed()
    const ids = await seed(list, { count: 60 })
    const paged = await readIds(list, agent, { until, limit: '25' })
    assert.deepEqual(paged.ids, ids)
    assert.equal(paged.pages, 3)
    const { rows } = await readPage(list, agent, { until })
    assert.equal(rows.length, 25, 'the default')
    const twins = await makeSeed()
    const same = await twins.seed(list, { count: 60, stepMs: 0 })
    const found = await readIds(list, twins.agent, { until: twins.until, limit: '7' })
    assert.deepEqual(found.ids.toSorted(), same.toSorted())
  })

  test(`${list}: rows that are stored while a reader pages shift nothing`, async () => {
    const { agent, newest, until, seed } = await makeSeed()
    const ids = await seed(list, { count: 60 })
    const { ids: read } = await readIds(list, agent, { until, limit: '10' }, async () => {
      await seed(list, { count: 30, name: 'new', newest: new Date(newest.getTime() + 500) })
      await seed(list, { count: 30, name: 'old', newest: new Date(newest.getTime() - 200) })
    })
    assert.deepEqual(
      read.filter((id) => id.includes('row')),
      ids,
    )
    assert.equal(new Set(read).size, read.length)
  })

  test(`${list}: an agent sees its own rows alone, in its own mode`, async () => {
    const mine = await makeSeed('test')
    const others = [await makeSeed('test'), await makeSeed('live')]
    for (const [n, other] of others.entries()) await other.seed(list, { count: 30, name: `other${n}` })
    assert.deepEqual((await readPage(list, mine.agent, { until: mine.until })).rows, [])
    const ids = await mine.seed(list, { count: 5 })
    assert.deepEqual((await readIds(list, mine.agent, { until: mine.until })).ids, ids)
  })

  test(`${list}: row-level security hides the rows where a statement names another agent`, async () => {
    const [mine, other] = [await makeSeed(), await makeSeed()]
    await other.seed(list, { count: 5 })
    const scan: PageScan = {
      agentId: other.agent.agentId,
      since: new Date(0),
      until: undefined,
      before: undefined,
      rowsMax: 10,
    }
    const read = (tx: Tx): Promise<readonly unknown[]> =>
      list === 'credentials'
        ? listIssued(tx, 'test', scan)
        : list === 'sessions'
          ? listSessions(tx, { ...scan, mode: 'test', kinds: ['view', 'work'] })
          : listRequests(tx, { ...scan, requestId: undefined, onlyFailed: false })
    assert.equal((await inTransaction(harness.ctx, other.agent.agentId, read)).length, 5)
    assert.equal((await inTransaction(harness.ctx, mine.agent.agentId, read)).length, 0)
  })

  test(`${list}: a cursor that is changed, or of another list, agent or filter, is refused`, async () => {
    const { agent, until, seed } = await makeSeed()
    await seed(list, { count: 30 })
    const { nextCursor } = await readPage(list, agent, { until, limit: '5' })
    assert.ok(nextCursor)
    assert.equal((await readPage(list, agent, { until, limit: '9', cursor: nextCursor })).rows.length, 9)
    const [head = '', mac = ''] = nextCursor.split('.')
    const fields = Buffer.from(head.slice('cur_aa'.length), 'base64url').toString('utf8')
    const moved = Buffer.from(fields.replace(/\d{13}/, '1000000000000')).toString('base64url')
    const changed = [`cur_aa${moved}.${mac}`, `${head}.${mac.slice(0, -1)}`, head, 'x', '', fields]
    for (const cursor of changed) await refusesCursor(list, agent, { until, cursor })
    await refusesCursor(list, agent, { cursor: nextCursor })
    await refusesCursor(list, (await makeSeed()).agent, { until, cursor: nextCursor })
    for (const other of names)
      if (other !== list) await refusesCursor(other, agent, { until, cursor: nextCursor })
  })

  test(`${list}: limits and filters out of bounds are refused`, async () => {
    const { agent, until, seed } = await makeSeed()
    await seed(list, { count: 120 })
    for (const query of [
      { limit: '0' },
      { limit: '101' },
      { limit: '1e1' },
      { since: 'yesterday' },
      { until: '2026-13-01' },
      { status: 'unknown' },
      { cursor: 'x'.repeat(1_001) },
    ]) {
      const answer = await get(list, agent, query)
      assert.equal(answer.status, 400, `${JSON.stringify(query)}: ${answer.text}`)
    }
    assert.equal((await readPage(list, agent, { until, limit: '100' })).rows.length, 100)
    const since = new Date(Date.now() + dayMs).toISOString()
    assert.deepEqual(await readPage(list, agent, { since }), { rows: [], nextCursor: null })
  })

  test(`${list}: since is inclusive and until is not`, async () => {
    const { agent, newest, seed } = await makeSeed()
    const ids = await seed(list, { count: 10, stepMs: 1_000 })
    const time = (n: number) => new Date(newest.getTime() - n * 1_000).toISOString()
    assert.deepEqual((await readIds(list, agent, { since: time(5), until: time(2) })).ids, ids.slice(3, 6))
  })

  test(`${list}: a filter that matches few rows ends with all of them, over pages that may be empty`, async () => {
    const { agent, until, seed } = await makeSeed()
    const ids = await seed(list, { count: 2_100 })
    const filter = {
      credentials: { status: 'revoked' },
      sessions: { verified: 'false' },
      requests: { status: '404', endpoint: 'credentials.verify' },
    }[list]
    const { ids: found } = await readIds(list, agent, { until, ...filter })
    assert.deepEqual(
      found,
      ids.filter((_, n) => n % 100 === 7),
    )
    const none = {
      credentials: { status: 'suspended' },
      sessions: { status: 'open' },
      requests: { endpoint: 'agents.profile' },
    }[list]
    const nothing = await readIds(list, agent, { until, ...none })
    assert.deepEqual(nothing.ids, [])
    assert.ok(nothing.pages > 1, 'a page reads a bounded number of rows')
  })
}

test('rows of earlier months are listed, as far back as the agent exists', async () => {
  const agent = await harness.register('test')
  await harness.advance(40 * dayMs)
  const newest = new Date(Date.now() + 40 * dayMs - 60_000)
  for (const list of ['credentials', 'sessions'] as const) {
    const rows = { agentId: agent.agentId, mode: 'test', newest, count: 80, stepMs: dayMs / 2 - 1 } as const
    const ids = await seedList(harness.owner, list, rows)
    const { ids: found } = await readIds(list, agent, { limit: '30' })
    assert.deepEqual(found, ids)
  }
})
