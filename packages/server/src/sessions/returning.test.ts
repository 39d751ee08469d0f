import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeJwt } from 'jose'
import { dumpTables } from '../../test/access/secret-leaks.ts'
import { startHarness, type Harness } from '../../test/fixtures/harness.ts'
import {
  browseFrom,
  budgetSettings,
  findCounterFaults,
  moveClockTo,
  registerPayingAgent,
} from '../../test/fixtures/networks.ts'
import { playSession } from '../../test/fixtures/people/play-session.ts'
import { makeSessionKey, openRecorder, proveBrowser } from '../../test/fixtures/people/recorder.ts'
import { inTransaction, readNow } from '../platform/db/db.ts'
import { makeRoots } from '../roots/index.ts'
import { browserHashOf } from './browsers.ts'
import { thumbprintOf } from './recording/chain.ts'
import { readClientAddress } from '../platform/http/client-address.ts'

const harness = await startHarness({ ...budgetSettings, LOG_LEVEL: 'debug' })
const dayMs = 86_400_000
const { agentId: site, apiKey } = await harness.register('test')
type Key = Awaited<ReturnType<typeof makeSessionKey>>

const open = async (browser: Key, of = site, by: Harness = harness) => {
  const { created } = await openRecorder({ send: by.call, site: of, browser })
  return created.json as { returning: boolean; receipt: { progress: unknown } }
}
const verify = (sessionId: string, key = apiKey) =>
  harness.call('POST', '/api/agents/verify', { key, body: { sessionId } })
/** A session of this browser that gets a credential. */
const pass = async (browser: Key, agent = { agentId: site, apiKey }, by: Harness = harness) => {
  const { sessionId } = await playSession(by, { site: agent.agentId, browser })
  const minted = await verify(sessionId, agent.apiKey)
  assert.equal(minted.status, 200, minted.text)
  return { sessionId, minted }
}

test('a browser that got a credential on an earlier day is asked one question', async () => {
  const browser = await makeSessionKey()
  await moveClockTo(harness, 9, 0)
  await pass(browser)
  const sameDay = await open(browser)
  assert.deepEqual([sameDay.returning, sameDay.receipt.progress], [false, { done: 0, of: 2, hits: 0 }])
  await harness.advance(dayMs)
  const nextDay = await open(browser)
  assert.deepEqual([nextDay.returning, nextDay.receipt.progress], [true, { done: 0, of: 1, hits: 0 }])
  const { sessionId, minted } = await pass(browser)
  const { json } = await harness.call('GET', `/api/agents/sessions/${sessionId}`, { key: apiKey })
  assert.deepEqual([json.counted.returning, json.counted.probes, json.counted.hits], [true, 1, 1])
  assert.deepEqual(json.counted.words, { asked: 1, hit: 1 })
  assert.equal(json.quality, 0.66)
  const claims = decodeJwt(minted.json.pohf_jwt)
  assert.deepEqual(claims['probes'], { pictures: { asked: 0, hit: 0 }, words: { asked: 1, hit: 1 } })
  assert.ok(!JSON.stringify(claims).includes('returning'))
})

test('a check without a credential does not count, and neither does another browser', async () => {
  const browser = await makeSessionKey()
  await playSession(harness, { site, browser })
  await harness.advance(dayMs)
  assert.equal((await open(browser)).returning, false)
  assert.equal((await open(await makeSessionKey())).returning, false)
})

test('work is asked throughout, whoever does it', async () => {
  const browser = await makeSessionKey()
  await pass(browser)
  await harness.advance(dayMs)
  const recorder = await openRecorder({ send: harness.call, site, kind: 'work', browser })
  assert.equal(recorder.created.json.returning, false)
})

test('the same key at another agent is another browser, and the tables do not link the two', async () => {
  const browser = await makeSessionKey()
  const other = await harness.register('test')
  await pass(browser)
  await harness.advance(dayMs)
  assert.equal((await open(browser, other.agentId)).returning, false)
  await pass(browser, other)
  assert.equal((await open(browser)).returning, true)
  const { rows } = await harness.owner.query<{ agent_id: string; key_hash: Buffer }>(
    "select distinct agent_id, key_hash from browser_sessions where agent_id = any($1) and at > pohf_now() - interval '1 hour'",
    [[site, other.agentId]],
  )
  const hashes = new Set(rows.map(({ key_hash }) => key_hash.toString('hex')))
  assert.equal(hashes.size, 2)
  const [live, sandbox] = [browserHashOf(site, 'live', browser.jwk), browserHashOf(site, 'test', browser.jwk)]
  assert.notDeepEqual(live, sandbox)
  assert.ok(hashes.has(sandbox.toString('hex')))
  const seen = await inTransaction(harness.ctx, other.agentId, (tx) =>
    tx.selectFrom('browser_sessions').select('agent_id').execute(),
  )
  assert.deepEqual([...new Set(seen.map(({ agent_id }) => agent_id))], [other.agentId])
})

test('a proof by another key, for another site or for another session key is refused, and nothing is stored', async () => {
  const [browser, other, session] = [await makeSessionKey(), await makeSessionKey(), await makeSessionKey()]
  const good = await proveBrowser(browser, site, session.jwk)
  const bad: readonly (readonly [string, unknown])[] = [
    ['proof', { ...good, key: other.jwk }],
    [
      'proof',
      await proveBrowser(browser, `${site.slice(0, -1)}${site.endsWith('0') ? '1' : '0'}`, session.jwk),
    ],
    ['proof', await proveBrowser(browser, site, other.jwk)],
    ['key', await proveBrowser(session, site, session.jwk)],
    ['key', { ...good, key: { ...browser.jwk, x: browser.jwk.y } }],
  ]
  const count = async () => (await harness.owner.query('select from browser_sessions')).rowCount
  const before = await count()
  for (const [path, proof] of bad) {
    const answer = await harness.call('POST', '/api/sessions', {
      body: { site, key: session.jwk, browser: proof },
    })
    assert.equal(answer.status, 400, answer.text)
    assert.deepEqual(
      [answer.json.error, answer.json.details[0].path],
      ['validation_failed', `body.browser.${path}`],
    )
  }
  assert.equal(await count(), before)
  const answer = await harness.call('POST', '/api/sessions', {
    body: { site, key: session.jwk, browser: good },
  })
  assert.equal(answer.status, 200, answer.text)
})

test('a browser is forgotten after 30 days', async () => {
  const browser = await makeSessionKey()
  const { sessionId } = await pass(browser)
  const count = async () =>
    (await harness.owner.query('select from browser_sessions where session_id = $1', [sessionId])).rowCount
  await harness.advance(29 * dayMs)
  await harness.runJobs()
  assert.equal(await count(), 1)
  assert.equal((await open(browser)).returning, true)
  await harness.advance(dayMs + 60_000)
  assert.equal((await open(browser)).returning, false, 'also before the job has run')
  await harness.runJobs()
  assert.equal(await count(), 0)
})

test('a network brings 50 browsers a day; the 51st is a new visitor, and nobody is refused', async () => {
  const agent = await registerPayingAgent(harness)
  const [near, far] = [browseFrom(harness, '198.18.5.77'), browseFrom(harness, '198.18.6.77')]
  const [first, second] = [await makeSessionKey(), await makeSessionKey()]
  await moveClockTo(harness, 9, 0)
  await pass(first, agent, near)
  await pass(second, agent, near)
  await harness.advance(dayMs)
  assert.equal((await open(first, agent.agentId, near)).returning, true)
  const { admitBrowser } = makeRoots(harness.ctx)
  const admitted: boolean[] = []
  for (let n = 0; n < 50; n += 1)
    admitted.push(
      await inTransaction(harness.ctx, 'system', async (tx) =>
        admitBrowser(tx, readClientAddress(`198.18.5.${n}`), await readNow(tx)),
      ),
    )
  assert.deepEqual(admitted, [...Array.from({ length: 49 }, () => true), false])
  assert.equal((await open(second, agent.agentId, near)).returning, false, 'the 51st')
  assert.equal((await open(first, agent.agentId, near)).returning, true, 'counted once a day')
  assert.equal((await open(second, agent.agentId, far)).returning, true, 'another /24')
  await harness.advance(dayMs)
  assert.equal((await open(second, agent.agentId, near)).returning, true, 'the next day')
  assert.deepEqual(await findCounterFaults(harness), [])
  const off = makeRoots({ ...harness.ctx, config: { ...harness.ctx.config, rootBudgets: false } })
  const now = await inTransaction(harness.ctx, 'system', readNow)
  assert.equal(
    await inTransaction(harness.ctx, 'system', (tx) =>
      off.admitBrowser(tx, readClientAddress('198.18.5.1'), now),
    ),
    true,
  )
})

test('one key is asked less in 20 checks a day, also when they begin at once', async () => {
  const browser = await makeSessionKey()
  await moveClockTo(harness, 9, 0)
  await pass(browser)
  await harness.advance(dayMs)
  const opened = await Promise.all(Array.from({ length: 24 }, () => open(browser)))
  assert.equal(opened.filter(({ returning }) => returning).length, 20)
  assert.equal((await open(browser)).returning, false)
  await harness.advance(dayMs)
  assert.equal((await open(browser)).returning, false, 'none of those checks got a credential')
  await pass(browser)
  await harness.advance(dayMs)
  assert.equal((await open(browser)).returning, true, 'the next day')
})

test('neither the key of a browser nor its thumbprint is stored, answered, published or logged', async () => {
  const agent = await registerPayingAgent(harness)
  const browser = await makeSessionKey()
  const answers: string[] = []
  const kept: Harness = {
    ...harness,
    call: async (...call: Parameters<Harness['call']>) => {
      const answer = await harness.call(...call)
      answers.push(answer.text)
      return answer
    },
  }
  await pass(browser, agent, browseFrom(kept, '198.18.9.9'))
  await harness.advance(dayMs)
  const { sessionId, minted } = await pass(browser, agent, browseFrom(kept, '198.18.9.9'))
  for (const path of ['', '/chunks'])
    await kept.call('GET', `/api/agents/sessions/${sessionId}${path}`, { key: agent.apiKey })
  await harness.runJobs()
  const { text } = await dumpTables(harness.owner)
  const hash = browserHashOf(agent.agentId, 'live', browser.jwk)
  const lines = text.split('\n').filter((line) => line.includes(hash.toString('hex')))
  assert.equal(lines.length, 2, 'the search finds the hash, in its own table')
  assert.ok(lines.every((line) => line.startsWith('public.browser_sessions')))
  const told = [...answers, minted.text, JSON.stringify(decodeJwt(minted.json.pohf_jwt)), ...harness.lines]
  const everything = [text, ...told].join('\n')
  const { x, y } = browser.jwk
  for (const part of [x, y, thumbprintOf(browser.jwk)])
    for (const form of [part, Buffer.from(part, 'base64url').toString('hex')])
      assert.ok(!everything.includes(form), 'a key leaked')
  assert.ok(
    told.every((one) => !one.includes(hash.toString('hex')) && !one.includes(hash.toString('base64url'))),
  )
})
