import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { forgingEntries, readForgingTable, type Fetch, type ForgingInputs } from '@pohf/verify'
import { startHarness, openHarness, type Harness } from '../../../test/fixtures/harness.ts'
import { readForgingFile } from './prices.ts'

const folder = mkdtempSync(join(tmpdir(), 'pohf-forging-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const dayMs = 86_400_000
/** The table of this version under another date, so that the test does not depend on the day on which it runs. */
const fileOfAge = (days: number): string => {
  const path = join(folder, `table-${days}.json`)
  const date = new Date(Date.now() - days * dayMs).toISOString().slice(0, 10)
  writeFileSync(path, JSON.stringify({ ...readForgingFile(''), date }))
  return path
}

const path = '/.well-known/pohf-forging.json'
const harness = await startHarness({ FORGING_FILE: fileOfAge(1) })
const readTable = async () => (await harness.call('GET', path)).json.table as string

/** Verifies as a relying party does, over the interface alone. */
const readAsRelyingParty = (of: Harness) => {
  const fetch: Fetch = async (url) => {
    const { status, text } = await of.call('GET', new URL(url).pathname)
    return new Response(text, { status })
  }
  return readForgingTable({ issuer: of.ctx.config.BASE_URL, fetch, clock: () => of.ctx.clock.now() })
}

test('the price table is signed by a key of its own purpose, and its inputs give its entries', async () => {
  const answer = await harness.call('GET', path)
  assert.equal(answer.status, 200, answer.text)
  assert.equal(answer.headers['access-control-allow-origin'], '*')
  assert.match(answer.headers['cache-control'] ?? '', /^public, max-age=3600/)
  const { typ, kid, alg } = decodeProtectedHeader(answer.json.table)
  assert.deepEqual([typ, alg], ['pohf-forging+jwt', 'ES256'])
  const { keys } = (await harness.call('GET', '/.well-known/jwks.json')).json
  assert.equal(keys.find((key: { kid: string }) => key.kid === kid).pohf_purpose, 'forging')
  const { iss, iat, exp, perDay, currency, version, roundedDown, entries, inputs } = decodeJwt(
    answer.json.table,
  )
  assert.deepEqual(
    [iss, perDay, currency, version, roundedDown],
    [harness.ctx.config.BASE_URL, 10_000, 'USD', 2, true],
  )
  assert.equal((exp ?? 0) - (iat ?? 0), 90 * 86_400)
  assert.deepEqual(forgingEntries(inputs as ForgingInputs), entries)
  const read = await readAsRelyingParty(harness)
  assert.ok(read.ok, JSON.stringify(read))
})

test('an unchanged table is answered with 304', async () => {
  const { headers } = await harness.call('GET', path)
  const etag = headers['etag'] ?? ''
  assert.match(etag, /^".{22}"$/)
  for (const tag of [etag, `W/${etag}`, `"other", ${etag}`])
    assert.equal((await harness.call('GET', path, { headers: { 'if-none-match': tag } })).status, 304)
  assert.equal((await harness.call('GET', path, { headers: { 'if-none-match': '"other"' } })).status, 200)
})

test('a table is signed again after a day, once for many readers, and at once when its key is revoked', async () => {
  const first = await readTable()
  await harness.advance(dayMs + 1_000)
  const [second = '', ...others] = await Promise.all(Array.from({ length: 20 }, readTable))
  assert.notEqual(second, first)
  assert.ok(others.every((other) => other === second))
  assert.deepEqual(decodeJwt(second), decodeJwt(first), 'the date stays that of the table')
  await harness.revokeKey(decodeProtectedHeader(second).kid ?? '')
  // The api keeps the public keys for five seconds.
  await harness.advance(6_000)
  const third = await readTable()
  assert.notEqual(decodeProtectedHeader(third).kid, decodeProtectedHeader(second).kid)
  assert.ok((await readAsRelyingParty(harness)).ok)
})

test('a table is still served while the signer is down', async () => {
  const before = await readTable()
  await harness.stopSigner()
  assert.equal(await readTable(), before)
  await harness.startSigner()
})

test('a table that is older than 90 days is served as expired', async () => {
  const old = await openHarness({ FORGING_FILE: fileOfAge(91) })
  try {
    assert.equal((await old.call('GET', path)).status, 200)
    const read = await readAsRelyingParty(old)
    assert.ok(!read.ok)
    assert.match(read.message, /expired on 20/)
  } finally {
    await old.close()
  }
})

test('a server does not start with a price table of another form', async () => {
  const broken = join(folder, 'broken.json')
  writeFileSync(broken, JSON.stringify({ ...readForgingFile(''), entries: [] }))
  assert.throws(() => readForgingFile(broken), /price table cannot be read from .*broken\.json/)
  assert.throws(() => readForgingFile(join(folder, 'missing.json')), /cannot be read/)
})
