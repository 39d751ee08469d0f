import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/fixtures/harness.ts'
import {
  browseFrom,
  budgetSettings,
  makeSeenSessions,
  moveClockTo,
  registerPayingAgent,
} from '../../test/fixtures/networks.ts'
import { registerConfirmedAgent } from '../../test/fixtures/people/member.ts'
import { playSession } from '../../test/fixtures/people/play-session.ts'
import { assertRefusal } from '../../test/fixtures/refusal.ts'
import { secretPurposes, type KeptPurpose } from '../platform/ops/secret-purposes.ts'
import { dayKeyOf } from './keys.ts'
import { networkTagsOf } from './rules.ts'
import { readClientAddress } from '../platform/http/client-address.ts'

const harness = await startHarness(budgetSettings)
const dayMs = 86_400_000
const address = '198.18.77.33'
const verify = (agent: { readonly apiKey: string }, sessionId: string) =>
  harness.call('POST', '/api/agents/verify', { key: agent.apiKey, body: { sessionId } })

/** Every tag that a table holds now. */
const listTags = async (): Promise<string[]> => {
  const { rows } = await harness.owner.query<{ tag: string }>(
    `select tag from root_counters union select unnest(narrow_tags || wide_tags) from root_sessions
     union select unnest(array[wide_tag, narrow_tag]) from root_network_credentials`,
  )
  return rows.map(({ tag }) => tag)
}

/** The /24 of the address, and the /20. */
const network24 = Array.from({ length: 256 }, (_, n) => `198.18.77.${n}`)
const network20 = Array.from({ length: 4_096 }, (_, n) => `198.18.${64 + (n >> 8)}.${n & 255}`)

/** The addresses that tags or sealed addresses of the database turn out to be about, under this secret. */
const search = async (secret: string, addresses: readonly string[]): Promise<string[]> => {
  const { tagKey, openAddresses } = dayKeyOf(secret)
  const tags = new Set(await listTags())
  const found = addresses.filter((tried) => {
    const { narrow, wide } = networkTagsOf(tagKey, readClientAddress(tried), 1)
    return tags.has(narrow) || tags.has(wide)
  })
  const { rows } = await harness.owner.query<{ sealed: string }>('select sealed from root_sessions')
  for (const { sealed } of rows)
    try {
      found.push(...openAddresses(sealed))
    } catch {
      // Another key sealed it.
    }
  return found
}

/**
 * Whoever has the whole database and the master key: tries the addresses of the /20 under every key of a day, and those of
 * the right /24 under every other key that the master key gives.
 */
const bruteForce = async (addresses: readonly string[]): Promise<string[]> => {
  const { secrets } = harness.ctx
  const { rows } = await harness.owner.query<{ sealed: string }>(
    'select sealed from root_keys where sealed is not null',
  )
  const found: string[] = []
  for (const { sealed } of rows) found.push(...(await search(secrets.open('root-keys', sealed), addresses)))
  for (const purpose of Object.keys(secretPurposes))
    found.push(...(await search(secrets.derive(purpose as KeptPurpose).toString('base64url'), network24)))
  return found
}

test('while its key exists the database and the master key tell an address; once it is destroyed nothing does', async () => {
  await moveClockTo(harness, 9, 5)
  const agent = await registerPayingAgent(harness)
  const { sessionId } = await playSession(browseFrom(harness, address), { site: agent.agentId })
  assert.equal((await verify(agent, sessionId)).status, 200)
  assert.ok((await bruteForce(network24)).includes(address), 'the search can find it')
  await harness.advance(dayMs)
  await harness.runJobs()
  assert.ok((await bruteForce(network24)).includes(address), 'kept for 24 hours after its day')
  await harness.advance(dayMs)
  await harness.runJobs()
  const { rows } = await harness.owner.query(
    'select from root_sessions where day < roots_day(pohf_now()) - 1 limit 1',
  )
  assert.equal(rows.length, 1, 'the rows of that day are there')
  assert.deepEqual(await bruteForce(network20), [])
})

test('a destroyed key is never made again, and its sessions draw on a tenth under the tag of their day', async () => {
  await moveClockTo(harness, 9, 5)
  const agents = [
    await registerConfirmedAgent(harness, 'live', 'one@example.com'),
    await registerConfirmedAgent(harness, 'live', 'two@example.com'),
  ]
  const seen = makeSeenSessions(harness)
  const sessions = []
  for (const agent of agents)
    for (const sessionId of await seen(4, agent, '198.18.1.1')) sessions.push({ agent, sessionId })
  const { rows: before } = await harness.owner.query<{ day: string }>(
    'select roots_day(pohf_now())::text as day',
  )
  await harness.advance(3 * dayMs)
  await harness.runJobs()
  const keyOf = async () =>
    (await harness.owner.query('select sealed from root_keys where day = $1', [before[0]?.day])).rows
  assert.deepEqual(await keyOf(), [{ sealed: null }])
  let minted = 0
  for (const { agent, sessionId } of sessions) {
    // A binding may rest on a session of an earlier day; the session's own credential may not.
    const answer = await harness.call('POST', '/api/agents/bind-transaction', {
      key: agent.apiKey,
      body: { sessionId, paymentRef: `agentpay:visa:${sessionId}` },
    })
    if (answer.status === 200) minted += 1
    else assertRefusal(answer, 409, 'network_busy')
  }
  assert.equal(minted, 2, 'a tenth of 30 an hour, of which no agent has more than half')
  assert.deepEqual(await keyOf(), [{ sealed: null }])
})
