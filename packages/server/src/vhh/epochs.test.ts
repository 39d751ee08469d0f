import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify, type JSONWebKeySet } from 'jose'
import { buildContext } from '../wiring/index.ts'
import { indexDepsOf } from '../wiring/sources.ts'
import { inTransaction } from '../platform/db/db.ts'
import { connectSigner, type Signer } from '../signing/index.ts'
import { startHarness } from '../../test/fixtures/harness.ts'
import { ensureEpochs } from './index.ts'
import { insertEpoch } from './store.ts'

const harness = await startHarness()
const dayMs = 86_400_000

const stored = async () => {
  const { rows } = await harness.owner.query('select epoch, jws from vhh_epochs order by epoch, revision')
  return rows as { epoch: string; jws: string }[]
}
const now = () => harness.ctx.clock.now()
const monthsAgo = (n: number) =>
  new Date(Date.UTC(now().getUTCFullYear(), now().getUTCMonth() - n)).toISOString().slice(0, 7)
/** To this long after the next month has begun. */
const toNextMonth = async (andMs: number) => {
  const start = Date.UTC(now().getUTCFullYear(), now().getUTCMonth() + 1)
  await harness.advance(start + andMs - now().getTime())
}

/** An agent with an endpoint for these events, and what it was told about the index. */
const makeSubscriber = async (mode: 'live' | 'test', events: string[]) => {
  const agent = await harness.register(mode)
  const { status, text } = await harness.call('POST', '/api/agents/webhooks', {
    key: agent.apiKey,
    body: { url: 'http://127.0.0.1:9/hook', events },
  })
  assert.equal(status, 200, text)
  return agent
}
const subscribers = [
  await makeSubscriber('live', ['index.epoch_published']),
  await makeSubscriber('test', ['*']),
]
const others = [await makeSubscriber('live', ['credential.issued']), await harness.register('live')]
const told = async ({ agentId }: { readonly agentId: string }, month: string) => {
  const { rows } = await harness.owner.query(
    `select data from events where agent_id = $1 and type = 'index.epoch_published' and data ->> 'epoch' = $2`,
    [agentId, month],
  )
  return rows.map(({ data }) => data as Record<string, unknown>)
}

test('the first start publishes last month, before anybody asks', async () => {
  assert.deepEqual(
    (await stored()).map(({ epoch }) => epoch),
    [monthsAgo(1)],
  )
})

test('the epoch verifies with a standard library against the key set, under a type and key of its own', async () => {
  const { json: keys } = await harness.call('GET', '/.well-known/jwks.json')
  const { json: epoch } = await harness.call('GET', '/api/index/vhh')
  const { payload, protectedHeader } = await jwtVerify(epoch.jws, createLocalJWKSet(keys as JSONWebKeySet), {
    algorithms: ['ES256'],
    typ: 'vhh-epoch+jwt',
    issuer: harness.ctx.config.BASE_URL,
  })
  const { jws: _, ...shown } = epoch
  const { iss, iat, ...signed } = payload
  assert.deepEqual(signed, shown)
  assert.equal(iss, harness.ctx.config.BASE_URL)
  assert.equal(iat, Math.floor(Date.parse(epoch.publishedAt) / 1_000))
  const { kid } = protectedHeader
  assert.equal(keys.keys.filter((key: { kid: string }) => key.kid === kid).length, 1)
  const tampered = epoch.jws.split('.')
  tampered[1] = Buffer.from(JSON.stringify({ ...payload, value: 20 })).toString('base64url')
  await assert.rejects(jwtVerify(tampered.join('.'), createLocalJWKSet(keys as JSONWebKeySet)))
})

test('an epoch without data says so and shows no value', async () => {
  const { json } = await harness.call('GET', '/api/index/vhh')
  assert.equal(json.code, 'VHH')
  assert.equal(json.value, null)
  assert.equal(json.currency, 'USD')
  assert.equal(json.status, 'insufficient_data')
  assert.deepEqual(json.inputs, { hours: 0, clusters: 0, workers: 0, units: 0 })
  assert.deepEqual(json.tooFew, ['hours', 'clusters', 'workers'])
  assert.equal(json.method, 'vhh-1')
})

test('a month is published 24 hours after its end and not before, and all readers get the same', async () => {
  await toNextMonth(dayMs - 60_000)
  await harness.runJobs()
  const early = await harness.call('GET', '/api/index/vhh')
  assert.equal(early.json.epoch, monthsAgo(2))
  await harness.advance(61_000)
  await harness.runJobs()
  const answers = await Promise.all(Array.from({ length: 10 }, () => harness.call('GET', '/api/index/vhh')))
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
  assert.equal(answers[0]?.json.epoch, monthsAgo(1))
  // Signatures are random, so one text means one signature.
  assert.equal(new Set(answers.map(({ json }) => json.jws)).size, 1)
  assert.equal((await stored()).filter(({ epoch }) => epoch === monthsAgo(1)).length, 1)
})

test('two processes publish a month once, both return the stored one, and subscribers are told once', async () => {
  await toNextMonth(dayMs + 1_000)
  const { ctx } = harness
  const second = buildContext({ config: ctx.config, log: ctx.log, clock: ctx.clock, name: 'second' })
  try {
    // Both have read that the month is due before either signs.
    let waiting = 0
    const both = Promise.withResolvers<void>()
    const slow = (): Signer => {
      const signer = connectSigner(ctx)
      return {
        ...signer,
        signTyped: async (typ, epoch) => {
          waiting += 1
          if (waiting === 2) both.resolve()
          await both.promise
          return signer.signTyped(typ, epoch)
        },
      }
    }
    const published = await Promise.all([
      ensureEpochs(indexDepsOf(ctx, slow())),
      ensureEpochs(indexDepsOf(second, slow())),
    ])
    assert.equal(published[0] + published[1], 1)
    const storedEpochs = (await stored()).filter(({ epoch }) => epoch === monthsAgo(1))
    assert.equal(storedEpochs.length, 1)
    assert.equal((await harness.call('GET', '/api/index/vhh')).json.jws, storedEpochs[0]?.jws)
    const epoch = monthsAgo(1)
    const url = `${ctx.config.BASE_URL}/api/index/vhh/inputs?epoch=${epoch}`
    for (const agent of subscribers)
      assert.deepEqual(await told(agent, epoch), [{ code: 'VHH', epoch, value: null, url }])
    for (const agent of others) assert.deepEqual(await told(agent, epoch), [])
    assert.equal((await harness.call('GET', url)).json.epoch.epoch, epoch)
  } finally {
    await second.db.end()
  }
})

test('the worker publishes missed months, in order and without a gap', async () => {
  await toNextMonth(0)
  await toNextMonth(0)
  await toNextMonth(2 * dayMs)
  await harness.runJobs()
  const months = (await stored()).map(({ epoch }) => epoch)
  assert.deepEqual(months.slice(-4), [4, 3, 2, 1].map(monthsAgo))
  assert.equal(new Set(months).size, months.length)
})

test('a failing signer publishes nothing, and the next run does', async () => {
  await toNextMonth(2 * dayMs)
  const before = (await stored()).length
  const broken: Signer = {
    ...connectSigner(harness.ctx),
    signTyped: async () => {
      throw new Error('no key')
    },
  }
  await assert.rejects(ensureEpochs(indexDepsOf(harness.ctx, broken)), /no key/)
  assert.equal((await stored()).length, before)
  for (const agent of subscribers) assert.deepEqual(await told(agent, monthsAgo(1)), [])
  await harness.runJobs()
  assert.equal((await stored()).length, before + 1)
})

test('an epoch cannot be changed or deleted, not even by the owner of the database', async () => {
  for (const change of [
    'update vhh_epochs set value_usd_cents = 1',
    'delete from vhh_epochs',
    'truncate vhh_epochs',
  ])
    await assert.rejects(harness.owner.query(change), /append-only/)
})

test('a final epoch without a value is refused by the database', async () => {
  const epoch = {
    code: 'VHH_none',
    epoch: '2026-01',
    method: 'x',
    inputs: { hours: 0, clusters: 0, workers: 0 },
    jws: 'x',
    valueUsdCents: null,
    status: 'final' as const,
    publishedAt: new Date(0),
    details: null,
  }
  await assert.rejects(
    inTransaction(harness.ctx, 'system', (tx) => insertEpoch(tx, epoch)),
    /check constraint/,
  )
})

test('a restatement is the next revision, and it is what is shown', async () => {
  const { json } = await harness.call('GET', '/api/index/vhh')
  await harness.owner.query(
    `insert into vhh_epochs select code, epoch, 2, 1850, 'final', method, 120, 12, 40, published_at, 'restated', null from vhh_epochs where epoch = $1`,
    [json.epoch],
  )
  const { json: restated } = await harness.call('GET', '/api/index/vhh')
  assert.equal(restated.epoch, json.epoch)
  assert.equal(restated.value, 18.5)
  assert.equal(restated.jws, 'restated')
  assert.equal(decodeProtectedHeader(json.jws).typ, 'vhh-epoch+jwt')
})
