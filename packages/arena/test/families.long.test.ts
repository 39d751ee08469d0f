import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../server/test/fixtures/harness.ts'
import { makeAttestedModel } from '../../server/test/fixtures/people/attested-model.ts'
import { registerConfirmedAgent } from '../../server/test/fixtures/people/member.ts'
import {
  countUntilRefused,
  daySettings,
  forge,
  ipv4Network,
  ipv6Network,
  isMinted,
  measureNetwork,
  singleAddress,
} from '../src/families/day.ts'
import type { Outcome } from '../src/families/family.ts'
import { measureFamilies, rowsOf } from '../src/families/measure.ts'
import { unitsNeeded, simulateDay } from '../src/families/simulate.ts'

const costs = { wallSeconds: 8.0004, cpuSeconds: 0.0219, bytes: 11_600 }
const low: Outcome = { assurance: 'low', roots: ['network'], onchain: false, subject: 'psu_a' }
const attested: Outcome = {
  assurance: 'substantial',
  roots: ['authenticator'],
  onchain: false,
  subject: 'psu_b',
}

test('a family has a row for each root and assurance that it reached, with the roots that this spends', () => {
  const family = { name: 'key_farm', kind: 'view', fixed: [], aim: 'authenticator' } as const
  const rows = rowsOf(family, [low, attested, attested, { refused: 'network_busy' }], costs)
  assert.deepEqual(
    rows.map(({ root, assurance, successRate, rootsSpent }) => ({
      root,
      assurance,
      successRate,
      rootsSpent,
    })),
    [
      { root: 'network', assurance: 'low', successRate: 0.25, rootsSpent: [{ kind: 'network', acts: 1 }] },
      {
        root: 'authenticator',
        assurance: 'substantial',
        successRate: 0.5,
        rootsSpent: [
          { kind: 'network', acts: 1 },
          { kind: 'authenticator', acts: 1 },
        ],
      },
    ],
  )
  assert.deepEqual([rows[0]?.wallSeconds, rows[0]?.cpuSeconds, rows[0]?.bytes], [8, 0.022, 11_600])
  const levelsOf = (outcomes: readonly Outcome[], aim?: 'authenticator') =>
    rowsOf({ ...family, aim }, outcomes, costs).map(({ root, assurance, successRate }) => [
      root,
      assurance,
      successRate,
    ])
  const refused = { refused: 'session_rejected' }
  assert.deepEqual(levelsOf([refused]), [['network', 'low', 0]])
  // The level that it was made for and does not get stays listed.
  assert.deepEqual(levelsOf([low, refused], 'authenticator'), [
    ['network', 'low', 0.5],
    ['authenticator', 'substantial', 0],
  ])
})

test('asking until refused counts what was given exactly, also several at a time', async () => {
  for (const [budget, atATime] of [
    [30, 8],
    [0, 8],
    [7, 1],
  ] as const) {
    let left: number = budget
    const ask = async () => left-- > 0
    assert.equal(await countUntilRefused(ask, 1_000, atATime), budget)
  }
  assert.equal(
    await countUntilRefused(async () => true, 50),
    50,
    'stops at its bound where nothing is refused',
  )
})

test('what a day needs follows from what one network gives', () => {
  assert.equal(unitsNeeded(10_000, { perHour: 300, perDay: 1_000, isLimited: true }), 10)
  assert.equal(unitsNeeded(10_000, { perHour: 30, perDay: 60, isLimited: true }), 167)
  assert.equal(unitsNeeded(10_000, { perHour: 1_200, perDay: 1_200, isLimited: false }), 1)
  assert.equal(unitsNeeded(10_000, { perHour: 0, perDay: 0, isLimited: true }), Infinity)
})

test('simulated networks do not overlap', () => {
  const networks = [...Array.from({ length: 500 }, (_, n) => ipv4Network(n)), ipv6Network(0), ipv6Network(1)]
  const addresses = networks.flatMap(({ addressAt }) => [addressAt(0), addressAt(253)])
  assert.equal(new Set(addresses).size, addresses.length)
})

test('where budgets are off, a simulated day is never refused and says so', async () => {
  const model = await makeAttestedModel()
  const harness = await startHarness({ ...daySettings, ...model.settings, ROOT_BUDGETS: 'off' })
  model.close()
  const site = await registerConfirmedAgent(harness, 'live', 'dev@day.example')
  const ask = async (address: string) => isMinted(await forge(harness, { site, address }))
  // More than the budget of an address in an hour, which is 30 by default.
  const capacity = await measureNetwork(harness, singleAddress(ipv4Network(0)), ask, 34)
  assert.deepEqual(capacity, { perHour: 34, perDay: 34, isLimited: false })
  const { low: atLow, substantial } = await simulateDay(harness, model, { forgeries: 5, max: 2 })
  assert.deepEqual([atLow.addresses, atLow.networks24, atLow.minted], [1, 1, 5])
  assert.deepEqual(substantial.authenticator, { perHour: 2, perDay: 2, isLimited: false })
  assert.deepEqual([substantial.addresses, substantial.networks24], [1, 1])
})

/** A server process of its own and one session in real time: about ten seconds. */
test('a family is measured against a running server: bytes on the line, CPU of the attacker, the credential', async () => {
  const lines: string[] = []
  const rows = await measureFamilies({
    attempts: 1,
    families: ['proxy_pool'],
    log: (line) => lines.push(line),
  })
  assert.deepEqual(
    rows.map(({ name, kind, root, assurance, successRate }) => [name, kind, root, assurance, successRate]),
    [['proxy_pool', 'view', 'network', 'low', 1]],
    lines.join('\n'),
  )
  const [played] = rows
  assert.ok(played && played.wallSeconds > 1 && played.wallSeconds < 60, `${played?.wallSeconds} s`)
  assert.ok(played.cpuSeconds > 0 && played.cpuSeconds < 5, `${played.cpuSeconds} s of CPU`)
  // Three requests at least, each with its headers, a chunk and a receipt.
  assert.ok(played.bytes > 3_000 && played.bytes < 100_000, `${played.bytes} bytes`)
})

test('owners who are hired give a subject each, roots are named together, and a limit refuses one act more', async () => {
  const lines: string[] = []
  const rows = await measureFamilies({
    attempts: 2,
    families: ['hired_owner', 'root_pair', 'act_limit'],
    log: (line) => lines.push(line),
  })
  assert.deepEqual(lines, [
    'hired_owner, personhood: high by world_id 2; 2 subjects',
    'root_pair, personhood: high by world_id and sms 2; 2 subjects',
    'act_limit, presence: high by world_id 6, human_limit_reached 2; 2 subjects',
  ])
  assert.deepEqual(
    rows.map(({ name, root, successRate, rootsSpent }) => [
      name,
      root,
      successRate,
      rootsSpent.map(({ kind }) => kind),
    ]),
    [
      ['hired_owner', 'world_id', 1, ['network', 'world_id']],
      ['root_pair', 'world_id', 1, ['network', 'world_id', 'sms']],
      ['act_limit', 'world_id', 0.75, ['network', 'world_id']],
    ],
  )
})
