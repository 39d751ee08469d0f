import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness, type TestResponse } from '../../test/fixtures/harness.ts'
import { makeKey, startKeyServer } from '../../test/fixtures/trust/key-server.ts'
import { makeTrustOperator, sendOrder, type SigningOptions } from '../../test/fixtures/trust/orders.ts'
import { keyNamed, readKeySet } from './signatures/keys.ts'

// A network publishes the keys of many agents in one set, and each agent chooses the `kid` of its key.

const harness = await startHarness()
const trust = await makeTrustOperator(harness)
const network = await startKeyServer()
const [victim, attacker] = [await makeKey.ed25519(), await makeKey.ed25519()]
await trust.mustAdd({ kind: 'jwks', name: 'net', keysUrl: `${network.origin}/keys` })

const publish = async (...keys: typeof network.keys) => {
  network.keys = keys
  // A cached set is as old as an hour.
  await harness.advance(3_600_001)
}
const order = (key: SigningOptions['key'], keyid: string) =>
  sendOrder(harness, { key, parameters: { keyid } })
const agentOf = (answer: TestResponse): string => {
  assert.equal(answer.status, 200, answer.text)
  return answer.json.agent.agentId
}

test('a kid that equals the thumbprint of another key neither replaces that key nor takes its identity', async () => {
  await publish(victim.publicJwk)
  const own = agentOf(await order(victim, victim.keyid))
  await publish({ ...attacker.publicJwk, kid: victim.keyid }, victim.publicJwk)
  assert.equal((await order(attacker, victim.keyid)).json.error, 'agent_signature_invalid')
  assert.equal(agentOf(await order(victim, victim.keyid)), own)
  const others = agentOf(await order(attacker, attacker.keyid))
  assert.notEqual(others, own)
  // Also after the network no longer lists the key, or while it is not valid.
  await publish({ ...attacker.publicJwk, kid: victim.keyid })
  assert.equal(agentOf(await order(attacker, victim.keyid)), others)
  const nextYear = Math.floor(harness.ctx.clock.now().getTime() / 1_000) + 31_536_000
  await publish({ ...attacker.publicJwk, kid: victim.keyid }, { ...victim.publicJwk, nbf: nextYear })
  assert.equal((await order(attacker, victim.keyid)).json.error, 'untrusted_agent')
})

test('a kid that two keys chose names neither, and each key keeps its identity by its thumbprint', async () => {
  await publish({ ...victim.publicJwk, kid: 'shop' })
  const own = agentOf(await order(victim, 'shop'))
  for (const keys of [
    [attacker, victim],
    [victim, attacker],
  ]) {
    await publish(...keys.map(({ publicJwk }) => ({ ...publicJwk, kid: 'shop' })))
    for (const key of keys) {
      const refused = await order(key, 'shop')
      assert.equal(refused.json.error, 'untrusted_agent', refused.text)
      assert.match(refused.json.message, /Several keys of the trust root net have this kid/)
    }
    assert.equal(agentOf(await order(victim, victim.keyid)), own)
  }
})

test('a kid that passes to another key does not pass on the agent', async () => {
  await publish({ ...victim.publicJwk, kid: 'passes' })
  const own = agentOf(await order(victim, 'passes'))
  await publish({ ...attacker.publicJwk, kid: 'passes' })
  assert.notEqual(agentOf(await order(attacker, 'passes')), own)
})

test('one key is one agent by its kid and by its thumbprint, and its nonces are the same', async () => {
  await publish({ ...victim.publicJwk, kid: 'name' })
  const parameters = { nonce: 'once' }
  const byKid = await sendOrder(harness, { key: victim, parameters: { ...parameters, keyid: 'name' } })
  const again = await sendOrder(harness, { key: victim, parameters })
  assert.equal(again.json.details[0].code, 'nonce_used', again.text)
  assert.equal(agentOf(await order(victim, victim.keyid)), agentOf(byKid))
})

/** The thumbprint of the key that a mandate names. */
const named = async (keys: typeof network.keys, name: string) => {
  const set = (await readKeySet(JSON.stringify({ keys }))) ?? assert.fail()
  assert.equal(set.length, keys.length)
  const found = keyNamed(set, { name, algorithm: 'ecdsa-p256-sha256' }, { acceptsKid: true, seconds: 0 })
  return typeof found === 'string' ? found : found.thumbprint
}

test('the issuer of mandates has the same rule: a thumbprint before a kid, and no kid of several keys', async () => {
  const [mine, theirs, rsa] = [await makeKey.p256(), await makeKey.p256(), await makeKey.rsa()]
  const shadow = { ...theirs.publicJwk, kid: mine.keyid }
  assert.equal(await named([shadow, mine.publicJwk], mine.keyid), mine.keyid)
  const [one, other] = [mine, theirs].map(({ publicJwk }) => ({ ...publicJwk, kid: 'k' }))
  assert.ok(one && other)
  assert.equal(await named([one, other], 'k'), 'ambiguous')
  assert.equal(await named([one, one], 'k'), mine.keyid)
  // RFC 7517 lets keys for different algorithms share a kid.
  assert.equal(await named([{ ...rsa.publicJwk, kid: 'k' }, one], 'k'), mine.keyid)
  assert.equal(await named([one], 'other'), 'none')
})
