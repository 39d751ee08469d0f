import assert from 'node:assert/strict'
import { test } from 'node:test'
import { validateClaims, typedPayloads } from './rules.ts'

const iat = 1_800_000_000
const live = {
  iss: 'https://pohf.example',
  sub: `psu_${'a'.repeat(32)}`,
  jti: 'crd_1',
  iat,
  exp: iat + 30 * 86_400,
  vct: 'https://pohf.example/credentials/view/v1',
  kind: 'view',
  agent: 'agt_1',
  verified: true,
  event_at: iat,
  assurance: 'low',
  evidence: [{ type: 'telemetry', alg: 'sha-256', hash: 'h'.repeat(43) }],
  status: { status_list: { idx: 1, uri: 'https://pohf.example/status/aa-live-1' } },
  view: { session: 'ses_1' },
}
const facts = { counted: false, fresh: true, at: iat }
const withRoots = (roots: unknown, more: object = {}) => validateClaims({ ...live, ...more, roots })

test('the signer signs facts about roots and nothing else', () => {
  const network = { kind: 'network', class: 'address', ...facts }
  const known = [
    network,
    { kind: 'authenticator', class: 'device:fido', ...facts },
    { kind: 'authenticator', class: 'device:fido', model: 'ee882879-721c-4913-9775-3dfcce97072a', ...facts },
    { kind: 'app', class: 'device:phone', model: 'TEAM012345.com.example.app', ...facts },
    { kind: 'payout_account', class: 'bank', ...facts, counted: true },
    { kind: 'organization', class: 'employer', issuer: 'https://login.example', ...facts, counted: true },
  ]
  for (const root of known) assert.deepEqual(withRoots([root]).roots, [root])
  assert.equal(withRoots(known.slice(1, 5)).roots?.length, 4)
  for (const root of [
    { ...network, model: 'm' },
    { ...network, issuer: 'office' },
    { ...network, tag: 'a tag' },
    { ...network, count: 3 },
    { ...network, address: '192.0.2.1' },
    { ...network, class: 'device:fido' },
    { kind: 'network', class: 'address' },
    { kind: 'authenticator', class: 'device:fido', issuer: 'office', ...facts },
    { kind: 'authenticator', class: 'device:fido', price: 10, ...facts },
    { kind: 'payout_account', class: 'bank', model: 'iban', ...facts },
    { kind: 'world_id', class: 'biometric:world', model: 'm', ...facts },
    { kind: 'external', class: 'document', ...facts },
    { kind: 'wallet', class: 'address', ...facts },
    {},
    'network',
  ])
    assert.throws(() => withRoots([root]), JSON.stringify(root))
  assert.throws(() => withRoots([]), 'a credential on nothing')
  assert.throws(() => withRoots(known.slice(1)), 'more than four')
  assert.throws(() => withRoots([network, known[1]]), 'a network beside another root')
  assert.throws(() => withRoots(network), 'no list')
})

test('the signer signs a limit for each human only beside a root that counts humans', () => {
  const limit = { perHumanDay: 3 }
  const account = { kind: 'payout_account', class: 'bank', ...facts, counted: true }
  assert.deepEqual(withRoots([account], { limit }).limit, limit)
  assert.throws(() => withRoots([{ kind: 'network', class: 'address', ...facts }], { limit }), /counted root/)
  for (const perHumanDay of [0, -1, 1.5, 201, '3'])
    assert.throws(() => withRoots([account], { limit: { perHumanDay } }), String(perHumanDay))
})

test('the signer signs no roots in a test credential', () => {
  const test = { iss: 'https://pohf.example/test', test: true, exp: iat + 7 * 86_400 }
  assert.ok(validateClaims({ ...live, ...test }))
  const roots = [{ kind: 'network', class: 'address', ...facts }]
  assert.throws(() => withRoots(roots, test), /a test credential has no roots/)
})

test('the signer signs a price table for 90 days and for no other time, and none of the sandbox', () => {
  const { schema, purposeOf } = typedPayloads['pohf-forging+jwt']
  const family = {
    name: 'script',
    kind: 'view',
    root: 'network',
    assurance: 'low',
    successRate: 1,
    wallSeconds: 8,
    cpuSeconds: 0.1,
    bytes: 1,
    humanSeconds: 0,
    rootsSpent: [{ kind: 'network', acts: 1 }],
    fixed: [],
  }
  const world = {
    class: 'biometric:world',
    level: 'high',
    counted: true,
    confirmed: false,
    actsPerDay: 200,
    ways: [{ by: 'hire', usd: 0, subjects: 1, lifeDays: 365 }],
  }
  const price = { usd: 0.1, class: 'F0' }
  const table = {
    iss: 'https://pohf.example',
    iat,
    exp: iat + 90 * 86_400,
    version: 2,
    currency: 'USD',
    perDay: 10_000,
    roundedDown: true,
    entries: [
      {
        kind: 'view',
        root: 'world_id',
        level: 'high',
        actsB: price,
        acts10: price,
        acts1: price,
        humans: 'named',
      },
    ],
    inputs: {
      measuredAt: '2026-11-01',
      pricedAt: '2026-11-01',
      wagePerHour: 1,
      ownerWagePerHour: 2,
      searchUsd: 0.02,
      corePerHour: 1,
      networks: [{ name: 'n', usdPerAddressDay: 1, usdPerGigabyte: 1 }],
      addressActsPerDay: 100,
      items: { x: 1 },
      humanSeconds: { work: 10, view: 1, presence: 1, personhood: 1, binding: 1, purchase: 10 },
      confirmSeconds: 1,
      roots: { world_id: world },
      families: [family],
    },
  }
  assert.equal(purposeOf(), 'forging')
  assert.ok(schema.safeParse(table).success, JSON.stringify(schema.safeParse(table).error?.issues))
  for (const wrong of [
    { exp: iat + 91 * 86_400 },
    { exp: iat + 89 * 86_400 },
    { iss: 'https://pohf.example/test' },
    { entries: [] },
    { currency: 'EUR' },
    { version: 1 },
    { inputs: { ...table.inputs, roots: { world_id: { ...world, ways: [{ by: 'steal' }] } } } },
    { note: 'more' },
  ])
    assert.ok(!schema.safeParse({ ...table, ...wrong }).success, JSON.stringify(wrong))
})
