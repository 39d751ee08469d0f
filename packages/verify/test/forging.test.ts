import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  credentialKinds,
  readForgingTable,
  verifyCredential,
  type Options,
  type Policy,
  type Result,
} from '../src/index.ts'
import { forgingInputs, makeIssuer, origin, rootsOf } from './issuer.ts'

const issuer = makeIssuer()
const tableUrl = `${origin}/.well-known/pohf-forging.json`
const policy: Policy = { kinds: credentialKinds, minAssurance: 'low', minQuality: 0, status: 'skip' }
const serve = (token: () => string) => issuer.serve({ [tableUrl]: () => JSON.stringify({ table: token() }) })
const check = (jwt: string, minForging: Policy['minForging'], more: Partial<Options>) =>
  verifyCredential(jwt, { issuer: origin, policy: { ...policy, minForging }, ...more })
const reasonOf = (result: Result) => (result.ok ? 'accepted' : result.reason)
const low = { roots: rootsOf('network') }
const strong = { roots: rootsOf('authenticator'), assurance: 'substantial' }

test('the table decides whether a class is reached, and is fetched only if the policy has a class', async () => {
  const { fetch, asked } = serve(() => issuer.forgingToken())
  const view = issuer.mint('view', low)
  assert.equal(reasonOf(await check(view, undefined, { fetch })), 'accepted')
  assert.ok(!asked.includes(tableUrl))
  assert.equal(reasonOf(await check(view, 'F0', { fetch })), 'accepted')
  assert.equal(reasonOf(await check(view, 'F1', { fetch })), 'forging_too_cheap')
  assert.equal(reasonOf(await check(issuer.mint('view', strong), 'F2', { fetch })), 'accepted')
  assert.equal(reasonOf(await check(issuer.mint('view', strong), 'F3', { fetch })), 'forging_too_cheap')
  assert.equal(asked.filter((url) => url === tableUrl).length, 1, 'one download for all')
})

test('a cached table is fetched again after an hour, and not used beyond its end', async () => {
  const start = Date.now()
  let exp = Math.floor(start / 1_000) + 86_400
  const { fetch, asked } = serve(() => issuer.forgingToken({ iat: exp - 90 * 86_400, exp }))
  const at = (seconds: number) => ({ fetch, clock: () => new Date(start + seconds * 1_000) })
  const view = issuer.mint('view', low)
  assert.equal(reasonOf(await check(view, 'F0', at(0))), 'accepted')
  assert.equal(reasonOf(await check(view, 'F0', at(3_599))), 'accepted')
  assert.equal(asked.filter((url) => url === tableUrl).length, 1)
  assert.equal(reasonOf(await check(view, 'F0', at(3_601))), 'accepted')
  assert.equal(asked.filter((url) => url === tableUrl).length, 2)
  assert.equal(reasonOf(await check(view, 'F0', at(86_400 + 61))), 'forging_unknown')
  exp += 86_400
  assert.equal(reasonOf(await check(view, 'F0', at(86_400 + 61))), 'accepted')
})

const day = 86_400
const now = () => Math.floor(Date.now() / 1_000)
const foreign = makeIssuer()
const price = { usd: 1, class: 'F1' }
const entry = {
  kind: 'view',
  root: 'network',
  level: 'low',
  actsB: price,
  acts10: price,
  acts1: price,
  humans: price,
}
const withInputs = (more: object) => issuer.forgingToken({ inputs: { ...forgingInputs, ...more } })
const withWay = (more: object) =>
  withInputs({
    roots: {
      ...forgingInputs.roots,
      network: {
        ...forgingInputs.roots['network'],
        ways: [{ by: 'buy', usd: 1, subjects: 1, lifeDays: 1, ...more }],
      },
    },
  })
const withFamily = (more: object) => withInputs({ families: [{ ...forgingInputs.families[0], ...more }] })
const unusable: Readonly<Record<string, () => string>> = {
  'one that has expired': () => issuer.forgingToken({ iat: now() - 91 * day, exp: now() - day }),
  'one of the future': () => issuer.forgingToken({ iat: now() + 120, exp: now() + day }),
  'one that is valid for too long': () => issuer.forgingToken({ exp: now() + 90 * day }),
  'one without an end': () => issuer.forgingToken({ exp: undefined }),
  'one of another issuer': () => issuer.forgingToken({ iss: 'https://other.example' }),
  'one of the test issuer': () => issuer.forgingToken({ iss: `${origin}/test` }),
  'one under the key of credentials': () => issuer.forgingToken({}, 'live'),
  'one under a stranger’s key': () => foreign.forgingToken(),
  'a credential': () => issuer.mint('view', low),
  'another type under its key': () =>
    issuer.signAny('forging', issuer.headerOf('forging'), { iss: origin, iat: now(), exp: now() + day }),
  'the version before': () => issuer.forgingToken({ version: 1 }),
  'a version of later': () => issuer.forgingToken({ version: 3 }),
  'one without a version': () => issuer.forgingToken({ version: undefined }),
  'another currency': () => issuer.forgingToken({ currency: 'EUR' }),
  'one with a class that is none': () =>
    issuer.forgingToken({ entries: [{ ...entry, humans: { usd: 1, class: 'F9' } }] }),
  'one without entries': () => issuer.forgingToken({ entries: [] }),
  'one with too many entries': () =>
    issuer.forgingToken({ entries: Array.from({ length: 201 }, () => entry) }),
  'inputs without a wage': () => withInputs({ wagePerHour: undefined }),
  'inputs without roots': () => withInputs({ roots: undefined }),
  'inputs without a network': () => withInputs({ networks: [] }),
  'no act for an address': () => withInputs({ addressActsPerDay: 0 }),
  'a way of a third kind': () => withWay({ by: 'steal' }),
  'a way for less than nothing': () => withWay({ usd: -1 }),
  'a way for an endless price': () => withWay({ usd: 1e300 }),
  'a way that makes no subject': () => withWay({ subjects: 0 }),
  'a way that lives no day': () => withWay({ lifeDays: 0 }),
  'a price as text': () => withWay({ usd: '8' }),
  'a script without bytes': () => withFamily({ bytes: undefined }),
  'a script that needs an item without a price': () =>
    withFamily({ fixed: [{ item: 'moon', quantity: 1, lifeActs: 1 }] }),
  'one that is too long': () => issuer.forgingToken({ inputs: { text: 'x'.repeat(140_000) } }),
  'no text': () => '',
}
for (const [name, token] of Object.entries(unusable))
  test(`the price is unknown and refused, with the table fetched or given: ${name}`, async () => {
    const view = issuer.mint('view', low)
    const { fetch } = serve(token)
    assert.equal(reasonOf(await check(view, 'F0', { fetch })), 'forging_unknown')
    const given = {
      forging: token(),
      jwks: issuer.jwks,
      fetch: async () => Promise.reject(new Error('offline')),
    }
    assert.equal(reasonOf(await check(view, 'F0', given)), 'forging_unknown')
    assert.equal(reasonOf(await check(view, undefined, given)), 'accepted', 'not asked for')
  })

test('the refusal names the version of the table, and the one that is known here', async () => {
  const { fetch } = serve(() => issuer.forgingToken({ version: 3 }))
  const result = await check(issuer.mint('view', low), 'F0', { fetch })
  assert.ok(!result.ok)
  assert.match(result.message, /the table has version 3; this verifier knows 2/)
})

test('the price is unknown where the table cannot be read, and where no root or kind is known', async () => {
  const view = issuer.mint('view', low)
  assert.equal(reasonOf(await check(view, 'F0', { fetch: issuer.serve().fetch })), 'forging_unknown')
  const { fetch } = serve(() => issuer.forgingToken())
  assert.equal(reasonOf(await check(issuer.mint('view'), 'F0', { fetch })), 'forging_unknown')
  const { view: _, ...humanSeconds } = forgingInputs.humanSeconds
  const older = serve(() => withInputs({ humanSeconds }))
  assert.equal(reasonOf(await check(view, 'F0', { fetch: older.fetch })), 'forging_unknown')
  const tested = issuer.mintTest()
  const options = { issuer: origin, fetch, policy: { ...policy, allowTest: true, minForging: 'F0' as const } }
  assert.equal(
    reasonOf(await verifyCredential(tested, options)),
    'forging_unknown',
    'test credentials have no roots',
  )
})

test('a cached table serves only callers who trust the keys under which it was verified', async () => {
  const { fetch, asked } = serve(() => issuer.forgingToken())
  const read = (jwks?: Options['jwks']) =>
    readForgingTable({ issuer: origin, fetch, ...(jwks ? { jwks } : {}) })
  assert.ok((await read()).ok)
  assert.equal((await read(foreign.jwks)).ok, false, 'fetched keys checked it')
  const own = { keys: [...issuer.jwks.keys] }
  assert.ok((await read(own)).ok)
  const count = asked.filter((url) => url === tableUrl).length
  assert.ok((await read(own)).ok)
  assert.equal(asked.filter((url) => url === tableUrl).length, count, 'kept for the same keys')

  const forged = serve(() => foreign.forgingToken())
  assert.ok((await readForgingTable({ issuer: origin, fetch: forged.fetch, jwks: foreign.jwks })).ok)
  assert.equal((await readForgingTable({ issuer: origin, fetch: forged.fetch })).ok, false)
})

test('offline, with a table and keys that the caller holds, nothing is fetched', async () => {
  const given = {
    forging: issuer.forgingToken(),
    jwks: issuer.jwks,
    fetch: async () => Promise.reject(new Error('offline')),
  }
  assert.equal(reasonOf(await check(issuer.mint('view', strong), 'F2', given)), 'accepted')
  const read = await readForgingTable({ issuer: origin, ...given })
  assert.ok(read.ok)
  assert.equal(read.table.perDay, 10_000)
})

test('the table can be read by itself, and a table that is not usable is a result', async () => {
  const read = await readForgingTable({ issuer: origin, fetch: serve(() => issuer.forgingToken()).fetch })
  assert.ok(read.ok && read.table.entries.length > 4)
  const gone = await readForgingTable({ issuer: origin, fetch: issuer.serve().fetch })
  assert.ok(!gone.ok)
  assert.match(gone.message, /answered 404/)
  await assert.rejects(readForgingTable({ issuer: `${origin}/` }), TypeError)
})

test('roots or a limit of another form make the claims malformed', async () => {
  const [root] = rootsOf('network')
  for (const claims of [
    ...[
      'network',
      {},
      [],
      null,
      [{ kind: '' }],
      [{ ...root, counted: 1 }],
      [{ ...root, class: undefined }],
    ].map((roots) => ({ roots })),
    { roots: Array.from({ length: 5 }, () => root) },
    ...[3, {}, { perHumanDay: 0 }, { perHumanDay: 0.5 }, { perHumanDay: '1' }].map((limit) => ({ limit })),
  ])
    assert.equal(
      reasonOf(await check(issuer.mint('view', claims), undefined, { jwks: issuer.jwks })),
      'claims_malformed',
      JSON.stringify(claims),
    )
})
