import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inTransaction } from '../platform/db/db.ts'
import { makeKey } from '../platform/ops/keys.ts'
import { startHarness } from '../../test/fixtures/harness.ts'
import { insertEpoch } from './store.ts'

const harness = await startHarness()
const agent = await harness.register('live')
const sandbox = await harness.register('test')
const narrow = await harness.call('POST', '/api/agents/keys', {
  key: agent.apiKey,
  body: { scopes: ['keys'] },
})

await inTransaction(harness.ctx, 'system', async (tx) => {
  for (const epoch of ['2025-12', '2025-11', '2026-01'])
    await insertEpoch(tx, {
      code: 'VHH_labelling',
      epoch,
      method: 'vhh-0',
      inputs: { hours: 150.5, clusters: 11, workers: 31 },
      jws: `jws of ${epoch}`,
      valueUsdCents: 1_234n,
      status: 'final',
      publishedAt: new Date('2026-02-02T00:00:00Z'),
      details: null,
    })
})

test('the catalogue lists every code with its latest epoch, to anybody, for a minute', async () => {
  const answer = await harness.call('GET', '/api/index')
  assert.equal(answer.status, 200)
  assert.deepEqual(
    answer.json.codes.map(({ code, name }: { code: string; name: string }) => [code, name]),
    [
      ['VHH', 'Verified Human Hour, composite'],
      ['VHH_labelling', 'Verified Human Hour, labelling'],
    ],
  )
  assert.match(answer.json.codes[0].latest.jws, /^[\w-]+\.[\w-]+\.[\w-]+$/)
  assert.equal(answer.json.codes[1].latest.epoch, '2026-01')
  assert.equal(answer.headers['cache-control'], 'public, max-age=60')
  assert.equal(answer.headers['access-control-allow-origin'], '*')
})

test('an unchanged response is 304 for a caller with its ETag', async () => {
  for (const path of ['/api/index', '/api/index/vhh']) {
    const { headers } = await harness.call('GET', path)
    const tag = headers['etag'] ?? ''
    assert.match(tag, /^"[\w-]{22}"$/)
    const again = await harness.call('GET', path, { headers: { 'if-none-match': `"other", ${tag}` } })
    assert.equal(again.status, 304)
    assert.equal(again.text, '')
    assert.equal((await harness.call('GET', path, { headers: { 'if-none-match': '"other"' } })).status, 200)
  }
})

test('without a key the composite is the latest epoch and nothing more', async () => {
  const answer = await harness.call('GET', '/api/index/vhh')
  assert.equal(answer.status, 200)
  assert.deepEqual(Object.keys(answer.json).toSorted(), [
    'carried',
    'code',
    'currency',
    'epoch',
    'excluded',
    'inputs',
    'inputsRoot',
    'jws',
    'method',
    'publishedAt',
    'restates',
    'revision',
    'status',
    'tooFew',
    'unit',
    'value',
  ])
  assert.equal(answer.headers['cache-control'], 'public, max-age=60')
  assert.equal(answer.headers['vary'], 'Authorization')
  assert.equal((await harness.call('GET', '/api/index/vhh?history=0')).status, 200)
})

test('licensed parts without a key or with a bad one are 403, whatever is wrong with the key', async () => {
  const bad = [undefined, 'hello', makeKey('svc_live_', 'aa'), `${agent.apiKey.slice(0, -1)}!`]
  for (const part of ['history', 'monthToDate', 'categories'])
    for (const key of bad) {
      const request = key === undefined ? {} : { key }
      const answer = await harness.call('GET', `/api/index/vhh?${part}=1`, request)
      assert.equal(answer.status, 403, `${part} with ${key ?? 'no key'}`)
      assert.equal(answer.json.error, 'license_required')
    }
  const twice = await harness.call('GET', '/api/index/vhh?history=0&history=1')
  assert.equal(twice.status, 403)
})

test('a bad key that asks for nothing licensed is 401, so that a mistyped key is noticed', async () => {
  const answer = await harness.call('GET', '/api/index/vhh', { key: 'hello' })
  assert.equal(answer.status, 401)
  assert.equal(answer.json.error, 'malformed_api_key')
})

test('with a key the running month and the categories are there, and history on request', async () => {
  for (const key of [agent.apiKey, sandbox.apiKey]) {
    const plain = await harness.call('GET', '/api/index/vhh', { key })
    assert.equal(plain.status, 200)
    assert.equal(plain.headers['cache-control'], 'private, no-store')
    assert.equal(plain.headers['etag'], undefined)
    assert.equal(plain.json.monthToDate.month, harness.ctx.clock.now().toISOString().slice(0, 7))
    assert.equal(plain.json.monthToDate.value, null)
    assert.deepEqual(
      plain.json.categories.map((category: { code: string }) => category.code),
      ['VHH_labelling'],
    )
    assert.equal(plain.json.history, undefined)
    const { json } = await harness.call('GET', '/api/index/vhh?history=1&monthToDate=0&categories=0', { key })
    assert.equal(json.history.at(-1).jws, json.jws)
    assert.equal(json.monthToDate, undefined)
    assert.equal(json.categories, undefined)
  }
})

test('a key without the scope reads the free tier and is refused the licensed one', async () => {
  const key = narrow.json.apiKey as string
  const free = await harness.call('GET', '/api/index/vhh', { key })
  assert.equal(free.status, 200)
  assert.equal(free.json.monthToDate, undefined)
  const refused = await harness.call('GET', '/api/index/vhh?history=1', { key })
  assert.equal(refused.status, 403)
  assert.equal(refused.json.error, 'forbidden')
})

test('a series is oldest first; one that nobody published is empty and not missing', async () => {
  const { status, json, headers } = await harness.call('GET', '/api/index/VHH_labelling', {
    key: agent.apiKey,
  })
  assert.equal(status, 200)
  assert.equal(headers['cache-control'], 'private, no-store')
  assert.deepEqual(
    json.series.map(({ epoch }: { epoch: string }) => epoch),
    ['2025-11', '2025-12', '2026-01'],
  )
  assert.equal(json.latest.value, 12.34)
  const unknown = await harness.call('GET', '/api/index/VHH_never_heard', { key: sandbox.apiKey })
  assert.equal(unknown.status, 200)
  assert.equal(unknown.json.code, 'VHH_never_heard')
  assert.equal(unknown.json.latest, null)
  assert.deepEqual(unknown.json.series, [])
})

test('a series checks the key first', async () => {
  for (const code of ['VHH_labelling', 'nonsense'])
    for (const key of [undefined, 'hello', makeKey('svc_test_', 'aa')]) {
      const answer = await harness.call('GET', `/api/index/${code}`, key === undefined ? {} : { key })
      assert.equal(answer.status, 403)
      assert.equal(answer.json.error, 'license_required')
    }
  for (const code of ['nonsense', 'VHH', 'VHH_', 'VHH_a-b', `VHH_${'a'.repeat(65)}`]) {
    const answer = await harness.call('GET', `/api/index/${code}`, { key: agent.apiKey })
    assert.equal(answer.status, 400, code)
    assert.equal(answer.json.details[0].path, 'path.code')
  }
})
