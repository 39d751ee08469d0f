import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { startHarness } from '../../test/fixtures/harness.ts'
import {
  browseFrom,
  budgetSettings,
  findCounterFaults,
  makeSeenSessions,
  moveClockTo,
  registerPayingAgent,
} from '../../test/fixtures/networks.ts'
import { playSession } from '../../test/fixtures/people/play-session.ts'
import { assertRefusal } from '../../test/fixtures/refusal.ts'
import { inTransaction, readNow } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import * as operators from '../operators/index.ts'
import { makeRoots } from './index.ts'
import { readClientAddress } from '../platform/http/client-address.ts'

const folder = mkdtempSync(join(tmpdir(), 'pohf-networks-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const networksFile = join(folder, 'networks.txt')
writeFileSync(networksFile, '192.0.2.0/24 hosting\n198.51.100.0/24 carrier\n2001:db8:5::/48 relay\n')
const harness = await startHarness({
  ...budgetSettings,
  NETWORKS_FILE: networksFile,
  ROOT_ADDRESS_PER_HOUR: '2',
  ROOT_NETWORK_PER_HOUR: '6',
})
const seen = makeSeenSessions(harness)
const operator = await operators.create(harness.ctx, 'machine', 'Ada')
const operate = (path: string, body: unknown) =>
  harness.callOperator('POST', `/operator/${path}`, { key: operator.operatorKey, body })
type Agent = Awaited<ReturnType<typeof registerPayingAgent>>
const verify = (agent: Agent, sessionId: string) =>
  harness.call('POST', '/api/agents/verify', { key: agent.apiKey, body: { sessionId } })
const countMinted = async (agent: Agent, sessionIds: readonly string[]): Promise<number> => {
  const answers = await Promise.all(sessionIds.map((sessionId) => verify(agent, sessionId)))
  for (const answer of answers) if (answer.status !== 200) assertRefusal(answer, 409, 'network_busy')
  assert.deepEqual(await findCounterFaults(harness), [])
  return answers.filter(({ status }) => status === 200).length
}

test('a session whose network is busy can step up, and one without a key cannot', async () => {
  await moveClockTo(harness, 9, 5)
  const agent = await registerPayingAgent(harness)
  const address = '203.0.113.77'
  // Half of two for one agent.
  const [first = '', second = ''] = await seen(2, agent, address)
  assert.equal((await verify(agent, first)).status, 200)
  const keyless = await verify(agent, second)
  assert.deepEqual([keyless.json.error, keyless.json.details], ['network_busy', undefined])
  const { sessionId } = await playSession(browseFrom(harness, address), { site: agent.agentId })
  const { json, text } = await verify(agent, sessionId)
  assert.equal(json.error, 'network_busy', text)
  assert.match(json.details[0].stepUp[0].url, /\/step-up\//)
})

test('every network that a page of a session called from is charged', async () => {
  await moveClockTo(harness, 9, 5)
  const agent = await registerPayingAgent(harness)
  let call = 0
  const send: typeof harness.call = (...request) =>
    browseFrom(harness, `203.0.113.${1 + Math.min(call++, 2)}`).call(...request)
  const { sessionId } = await playSession({ ...harness, call: send }, { site: agent.agentId })
  const { json, text } = await verify(agent, sessionId)
  assert.ok(json.credentialId, text)
  const { rows } = await harness.owner.query(
    'select distinct wide_tag, narrow_tag from root_network_credentials where credential_id = $1',
    [json.credentialId],
  )
  assert.equal(rows.length, 3, 'three addresses')
  assert.equal(new Set(rows.map((row) => row.wide_tag)).size, 1, 'of one /24')
  const used = await harness.owner.query(
    "select used from root_counters where spender = '' and tag = any($1)",
    [[rows[0]?.wide_tag, ...rows.map((row) => row.narrow_tag)]],
  )
  assert.deepEqual(
    used.rows,
    Array.from({ length: 4 }, () => ({ used: 1 })),
    'each counter once',
  )
})

test('a session that comes from more than eight addresses is refused, and nothing of that call is stored', async () => {
  const agent = await registerPayingAgent(harness)
  const roots = makeRoots(harness.ctx)
  const [sessionId = ''] = await seen(1, agent, '203.0.113.1')
  const note = (address: string) =>
    inTransaction(harness.ctx, 'system', async (tx) => {
      const now = await readNow(tx)
      await roots.noteAddress(tx, { sessionId, at: now, now }, readClientAddress(address))
    })
  for (let n = 2; n <= 8; n++) await note(`203.0.113.${n}`)
  await assert.rejects(
    () => note('203.0.113.9'),
    (error) => error instanceof Refusal && error.code === 'telemetry_refused',
  )
  await note('203.0.113.8')
  const { rows } = await harness.owner.query(
    'select cardinality(narrow_tags) as n from root_sessions where session_id = $1',
    [sessionId],
  )
  assert.deepEqual(rows, [{ n: 8 }])
})

test('the addresses of one IPv6 /64 are one network of a session, and a tunnel gives it no further one', async () => {
  const agent = await registerPayingAgent(harness)
  const roots = makeRoots(harness.ctx)
  const [sessionId = ''] = await seen(1, agent, '2001:db8:9:9::1')
  const note = (address: string) =>
    inTransaction(harness.ctx, 'system', async (tx) => {
      const now = await readNow(tx)
      await roots.noteAddress(tx, { sessionId, at: now, now }, readClientAddress(address))
    })
  for (let n = 2; n <= 12; n++) await note(`2001:db8:9:9::${n}`)
  await note('198.51.100.200')
  for (const tunnel of ['2002:c633:64c8::1', '2002:c633:64c8:7::1', '64:ff9b::198.51.100.200'])
    await note(tunnel)
  const { rows } = await harness.owner.query(
    'select cardinality(narrow_tags) as n from root_sessions where session_id = $1',
    [sessionId],
  )
  assert.deepEqual(rows, [{ n: 2 }])
})

test('hosting networks have no budget, carriers and relays twenty times the usual one', async () => {
  await moveClockTo(harness, 9, 5)
  const agent = await registerPayingAgent(harness)
  assert.equal(await countMinted(agent, await seen(2, agent, '192.0.2.44')), 0)
  // One agent has half of 20 x 2.
  assert.equal(await countMinted(agent, await seen(22, agent, '198.51.100.1')), 20)
  assert.equal(await countMinted(agent, await seen(3, agent, '2001:db8:5:1::7')), 3)
})

test('an IPv6 subscriber has one budget for a /64, and a site one for a /48', async () => {
  await moveClockTo(harness, 9, 5)
  const [one, two] = [await registerPayingAgent(harness), await registerPayingAgent(harness)]
  const inOne64 = [...(await seen(1, one, '2001:db8:7::1')), ...(await seen(1, one, '2001:db8:7::2'))]
  assert.equal(await countMinted(one, inOne64), 1, 'half of two')
  const others: string[] = []
  for (let n = 1; n <= 4; n++) others.push(...(await seen(1, one, `2001:db8:7:${n}::1`)))
  assert.equal(await countMinted(one, others), 2, 'half of the six of the /48')
  assert.equal(await countMinted(two, await seen(1, two, '2001:db8:7:9::1')), 1)
})

test('an operator gives a site a budget of its own, which takes nothing from others', async () => {
  await moveClockTo(harness, 9, 5)
  const [exam, other] = [await registerPayingAgent(harness), await registerPayingAgent(harness)]
  const address = '203.0.113.200'
  const body = { factor: 10, reason: 'exam week' }
  const { json } = await operate(`agents/${exam.agentId}/network-budget`, body)
  assert.deepEqual(json, { agentId: exam.agentId, factor: 10 })
  assert.equal(await countMinted(exam, await seen(21, exam, address)), 20)
  assert.equal(await countMinted(other, await seen(1, other, address)), 1)
  await operate(`agents/${exam.agentId}/network-budget`, { factor: null, reason: 'over' })
  assert.equal(await countMinted(exam, await seen(2, exam, address)), 1, 'the usual half')
  assertRefusal(await operate('agents/agt_nobody/network-budget', body), 404, 'not_found')
})

test('a session without a known network draws on a tenth of a network, for its agent alone', async () => {
  await moveClockTo(harness, 9, 5)
  const agent = await registerPayingAgent(harness)
  const other = await registerPayingAgent(harness)
  for (const one of [agent, other]) {
    const sessionIds = await seen(3, one, '203.0.113.150')
    await harness.owner.query('delete from root_sessions where session_id = any($1)', [sessionIds])
    assert.equal(await countMinted(one, sessionIds), 1)
  }
})
