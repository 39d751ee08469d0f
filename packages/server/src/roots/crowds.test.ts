// What honest crowds see: many people behind few addresses, each with one session. Nobody is refused for good.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { startHarness } from '../../test/fixtures/harness.ts'
import {
  budgetSettings,
  findCounterFaults,
  makeSeenSessions,
  moveClockTo,
  registerPayingAgent,
  type LiveAgent,
} from '../../test/fixtures/networks.ts'

const folder = mkdtempSync(join(tmpdir(), 'pohf-networks-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const networksFile = join(folder, 'networks.txt')
writeFileSync(networksFile, '198.51.100.0/24 carrier\n192.0.2.0/24 relay\n2001:db8:40::/48 relay\n')
const harness = await startHarness({ ...budgetSettings, NETWORKS_FILE: networksFile })
const seen = makeSeenSessions(harness)
const agents: readonly LiveAgent[] = [
  await registerPayingAgent(harness),
  await registerPayingAgent(harness),
  await registerPayingAgent(harness),
]
const hour = 3_600_000

type CrowdSize = {
  readonly people: number
  readonly pickAddress: (person: number) => string
  readonly sites: number
}

/**
 * Everybody comes in the first hour, and whoever is refused comes again in the next one, or on the next day after an hour in
 * which nobody was served. Returns how many are served each time.
 */
const serve = async ({ people, pickAddress, sites }: CrowdSize, hoursMax: number): Promise<number[]> => {
  await moveClockTo(harness, 0, 5)
  let waiting: { agent: LiveAgent; sessionId: string }[] = []
  const come = async (person: number): Promise<void> => {
    const agent = agents[person % sites]
    if (!agent) throw new Error(`there are ${agents.length} sites`)
    const [sessionId = ''] = await seen(1, agent, pickAddress(person))
    waiting.push({ agent, sessionId })
  }
  for (let person = 0; person < people; person += 10)
    await Promise.all(Array.from({ length: 10 }, (_, n) => come(person + n)))
  const served: number[] = []
  for (let n = 0; n < hoursMax && waiting.length > 0; n++) {
    const answers = await Promise.all(
      waiting.map(({ agent, sessionId }) =>
        harness.call('POST', '/api/agents/verify', { key: agent.apiKey, body: { sessionId } }),
      ),
    )
    for (const { status, json, text } of answers)
      if (status !== 200) assert.deepEqual([status, json.error], [409, 'network_busy'], text)
    served.push(answers.filter(({ status }) => status === 200).length)
    waiting = waiting.filter((_, index) => answers[index]?.status !== 200)
    if (served.at(-1) === 0) await moveClockTo(harness, 0, 5)
    else await harness.advance(hour)
  }
  assert.equal(waiting.length, 0, `${waiting.length} of ${people} were never served`)
  assert.deepEqual(await findCounterFaults(harness), [])
  return served
}

test('500 people behind one listed carrier /24 are served within the hour', async (t) => {
  const served = await serve({ people: 500, pickAddress: (n) => `198.51.100.${n % 200}`, sites: 2 }, 1)
  t.diagnostic(`carrier: ${served.join(', ')}`)
  assert.deepEqual(served, [500])
})

test('a university /24 at exam time, not listed: 350 students with addresses of their own wait at most one hour', async (t) => {
  const served = await serve({ people: 350, pickAddress: (n) => `203.0.113.${n % 250}`, sites: 3 }, 3)
  t.diagnostic(`university: ${served.join(', ')}`)
  assert.deepEqual(served, [300, 50])
})

test('a corporate gateway, one address for 120 people, not listed: 30 an hour, the rest the next day', async (t) => {
  const served = await serve({ people: 120, pickAddress: () => '203.0.113.251', sites: 3 }, 6)
  t.diagnostic(`gateway: ${served.join(', ')}`)
  assert.deepEqual(served, [30, 30, 30, 10, 0, 20], 'the last 20 at the beginning of the next day')
})

test('the same gateway, listed as relay: nobody waits', async (t) => {
  const served = await serve({ people: 120, pickAddress: () => '192.0.2.9', sites: 3 }, 1)
  t.diagnostic(`listed gateway: ${served.join(', ')}`)
  assert.deepEqual(served, [120])
})

const relayAddress = (n: number) => `2001:db8:40:${(n % 16).toString(16)}::${(n + 1).toString(16)}`

test('Private Relay, a /48 of addresses that change, listed: nobody waits', async (t) => {
  const served = await serve({ people: 200, pickAddress: relayAddress, sites: 2 }, 1)
  t.diagnostic(`Private Relay: ${served.join(', ')}`)
  assert.deepEqual(served, [200])
})
