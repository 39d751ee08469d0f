import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeKey } from '../../../test/fixtures/trust/key-server.ts'
import { disclose, joinHops, referTo, signHop } from '../../../test/fixtures/trust/mandates.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { readChain } from './sd-jwt.ts'

const key = await makeKey.p256()
const last = signHop(key, { header: {}, payload: {} })
const read = (payload: Record<string, unknown>, disclosures: readonly string[]) =>
  readChain(joinHops([signHop(key, { header: {}, payload, disclosures }), last]), 'path')[0]

test('disclosures that refer to each other cannot unfold into more values than the limit', () => {
  // Twelve levels that double at each: 4,096 values of a few hundred bytes, and with one more 8,192.
  let inner = disclose('leaf')
  const all = [inner]
  for (let level = 0; level < 14; level++) {
    inner = disclose([referTo(inner), referTo(inner)])
    all.push(inner)
  }
  const before = process.cpuUsage()
  assert.throws(
    () => read({ list: [referTo(inner)] }, all),
    (error) => error instanceof Refusal && /unfolds into more than/.test(error.message),
  )
  // Time of the processor: beside other processes a second passes in no time.
  const { user, system } = process.cpuUsage(before)
  assert.ok(user + system < 1_000_000, `${user + system} µs`)
})

test('a claim cannot be disclosed twice, nor over one that is open', () => {
  const claim = Buffer.from(JSON.stringify(['salt', 'exp', 9])).toString('base64url')
  const digest = referTo(claim)['...']
  assert.throws(() => read({ exp: 1, _sd: [digest] }, [claim]), /occurs twice/)
  assert.deepEqual(read({ _sd: [digest] }, [claim])?.payload, { exp: 9 })
  assert.throws(() => read({}, [claim, claim]), /a disclosure occurs twice/)
  const reserved = Buffer.from(JSON.stringify(['salt', '_sd', []])).toString('base64url')
  assert.throws(() => read({}, [reserved]), /names no claim/)
})

test('what is not disclosed is left out, and a shared disclosure is put into every place', () => {
  const shared = disclose({ id: 1 })
  const hop = read({ a: [referTo(shared)], b: [referTo(shared), referTo(disclose('hidden'))] }, [shared])
  assert.deepEqual(hop?.payload, { a: [{ id: 1 }], b: [{ id: 1 }] })
})

test('a disclosure without a place is refused, and so is a signature in another form', () => {
  const shared = disclose({ id: 1 })
  assert.deepEqual(read({ a: [referTo(shared)] }, [shared])?.payload, { a: [{ id: 1 }] })
  assert.throws(() => read({ a: [referTo(shared)] }, [shared, disclose('more')]), /has no place/)
  const hop = signHop(key, { header: {}, payload: {} })
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const spare = alphabet.at(alphabet.indexOf(hop.at(-2) ?? '') + 1)
  for (const changed of [`${hop.slice(0, -2)}${spare}~`, hop.replace('~', '=~'), hop.replace('~', ' ~')])
    assert.throws(() => readChain(joinHops([changed, last]), 'path'), /no compact JWT/)
})
