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
const withRoot = (root: unknown, more: object = {}) => validateClaims({ ...live, ...more, root })

test('the signer signs facts about a root and nothing else', () => {
  for (const root of [
    { kind: 'network' },
    { kind: 'authenticator' },
    { kind: 'authenticator', model: 'ee882879-721c-4913-9775-3dfcce97072a' },
    { kind: 'app', model: 'TEAM012345.com.example.app' },
    { kind: 'payout_account' },
    { kind: 'external', issuer: 'office' },
  ])
    assert.deepEqual(withRoot(root).root, root)
  for (const root of [
    { kind: 'network', model: 'm' },
    { kind: 'network', issuer: 'office' },
    { kind: 'network', tag: 'a tag' },
    { kind: 'network', count: 3 },
    { kind: 'network', address: '192.0.2.1' },
    { kind: 'authenticator', issuer: 'office' },
    { kind: 'authenticator', price: 10 },
    { kind: 'payout_account', model: 'iban' },
    { kind: 'external', model: 'm' },
    { kind: 'wallet' },
    {},
    'network',
  ])
    assert.throws(() => withRoot(root), JSON.stringify(root))
})

test('the signer signs no root in a test credential', () => {
  const test = { iss: 'https://pohf.example/test', test: true, exp: iat + 7 * 86_400 }
  assert.ok(validateClaims({ ...live, ...test }))
  assert.throws(() => withRoot({ kind: 'network' }, test), /a test credential has no root/)
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
  const bought = {
    item: 'x',
    actsPerDay: 60,
    lifeDays: 365,
    assurance: 'substantial',
    isOwnedByHired: false,
  }
  const table = {
    iss: 'https://pohf.example',
    iat,
    exp: iat + 90 * 86_400,
    version: 1,
    currency: 'USD',
    perDay: 10_000,
    roundedDown: true,
    entries: [
      { kind: '*', root: 'network', assurance: 'low', costPer1000: 0.1, class: 'F0', family: 'script' },
    ],
    inputs: {
      measuredAt: '2026-11-01',
      pricedAt: '2026-11-01',
      wagePerHour: 1,
      corePerHour: 1,
      networks: [{ name: 'n', usdPerAddressDay: 1, usdPerGigabyte: 1 }],
      addressActsPerDay: 100,
      strongRootFactor: 10,
      roots: { authenticator: bought, app: bought, payout_account: bought, external: bought },
      items: { x: 1 },
      hiredSeconds: 8,
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
    { note: 'more' },
  ])
    assert.ok(!schema.safeParse({ ...table, ...wrong }).success, JSON.stringify(wrong))
})
