import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { compile, deployRegistry, openRegistry, startChain, type Chain } from '@pohf/chain'
import { verifyCredential } from '@pohf/verify'
import { createLocalJWKSet, jwtVerify } from 'jose'
import { encodeAbiParameters, type Hex } from 'viem'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { registerConfirmedAgent } from '../../../test/fixtures/people/member.ts'
import { enrolProven, officeIssuer } from '../../../test/fixtures/people/outside-proof.ts'
import { makeWalletClients, newWallet, nulOf, textOf } from '../../../test/fixtures/people/wallet-clients.ts'
import * as operators from '../../operators/index.ts'
import { connectSigner, readJournal } from '../../signing/index.ts'

const day = 86_400
const forks = [
  { name: 'the newest fork', options: {} },
  { name: 'OP stack', options: { optimism: true } },
  { name: 'prague, without a precompile', options: { hardfork: 'prague' } },
]
const chains = await Promise.all(forks.map(async ({ options }) => startChain(options)))
after(() => Promise.all(chains.map(async (chain) => chain?.stop())))
const registries = await Promise.all(
  chains.map(async (chain) => chain && deployRegistry(chain, { keyDelaySeconds: 0 })),
)
// The first contract of one account has the same address on every chain.
const address = registries[0]?.address ?? `0x${'00'.repeat(20)}`
const harness = await startHarness(
  {
    ...(chains[0] ? { EVM_RPC_URLS: `84532=${chains[0].url}` } : {}),
    ONCHAIN_REGISTRIES: `84532=${address}`,
  },
  [officeIssuer],
)
const operator = (await operators.create(harness.ctx, 'machine', 'Ada')).operatorKey
const live = await registerConfirmedAgent(harness, 'live', 'agent@example.com')
const other = await registerConfirmedAgent(harness, 'live', 'agent@other.example')
const sandbox = await harness.register('test')

const { proofFor, mintWith, ask, mint } = makeWalletClients(harness)
type RegistryKey = { kid: string; keyId: Hex; state: string; addKey: Hex; revokeKey: Hex; notAfter: number }
const keysForChain = async (): Promise<RegistryKey[]> =>
  (await harness.callOperator('GET', '/operator/keys/onchain', { key: operator })).json.keys
type PublicKey = { kty: 'EC'; kid: string; x: string; y: string; pohf_purpose: string }
const jwks = async (): Promise<{ keys: PublicKey[] }> =>
  (await harness.call('GET', '/.well-known/jwks.json')).json

/** The registry of a chain, with the key of the service. */
const openWithKey = async (chain: Chain, made = registries[chains.indexOf(chain)]) => {
  assert.ok(made)
  const registry = openRegistry(chain, made.address)
  const [key] = await keysForChain()
  assert.ok(key && key.state === 'active')
  // The call given to operators is sent unchanged.
  if ((await registry.numberOf(key.kid)) === 0) await chain.send({ to: registry.address, data: key.addKey })
  return { registry, key }
}
const person = await enrolProven(harness, live)

for (const [index, { name }] of forks.entries()) {
  const chain = chains[index]
  const onChain = (title: string, body: (here: Chain) => Promise<void>): void =>
    void test(
      `${title} (${name})`,
      { skip: chain ? false : 'npm has no anvil for this system' },
      async () => {
        assert.ok(chain)
        await body(chain)
      },
    )

  onChain('anyone can take the response of a call to isVerifiedHuman on a chain', async (here) => {
    const { registry } = await openWithKey(here)
    const wallet = newWallet()
    const { onchain } = await mint(live.apiKey, person.memberId, wallet)
    assert.equal(await registry.isVerifiedHuman(wallet.address), false)
    assert.equal(typeof (await registry.bind(onchain, here.gasAccounts[3])), 'number')
    assert.equal(await registry.isVerifiedHuman(wallet.address), true)
    assert.equal(await registry.bind(onchain), 'Stale')
    assert.equal(await registry.isVerifiedHuman(newWallet().address), false)
  })

  onChain('a second wallet of the same human replaces the first', async (here) => {
    const { registry } = await openWithKey(here)
    const human = await enrolProven(harness, live)
    const [first, second] = [newWallet(), newWallet()]
    const one = await mint(live.apiKey, human.memberId, first)
    assert.equal(typeof (await registry.bind(one.onchain)), 'number')
    await harness.advance(1_000)
    const two = await mint(live.apiKey, human.memberId, second)
    assert.equal(nulOf(two.onchain), nulOf(one.onchain))
    assert.equal(typeof (await registry.bind(two.onchain)), 'number')
    assert.deepEqual(
      [await registry.isVerifiedHuman(first.address), await registry.isVerifiedHuman(second.address)],
      [false, true],
    )
    const stranger = await enrolProven(harness, live)
    const three = await mint(live.apiKey, stranger.memberId, newWallet())
    assert.notEqual(nulOf(three.onchain), nulOf(one.onchain))
    assert.equal(typeof (await registry.bind(three.onchain)), 'number')
    await harness.advance(1_000)
    const same = await mint(live.apiKey, stranger.memberId, second)
    assert.equal(await registry.bind(same.onchain), 'WalletTaken')
  })

  onChain('a test credential reaches no chain, not even where its key was added by mistake', async (here) => {
    const { registry } = await openWithKey(here)
    const { onchain } = await mint(sandbox.apiKey, 'mem_test_human', newWallet())
    assert.ok(textOf(onchain).startsWith('{"test":true,'))
    assert.equal(await registry.bind(onchain), 'UnknownKey')
    const jwk = (await jwks()).keys.find((key) => key.pohf_purpose === 'onchain-test')
    assert.ok(jwk)
    assert.ok(!(await keysForChain()).some((key) => key.kid === jwk.kid), 'operators are not offered it')
    assert.equal(typeof (await registry.addKey(jwk, 4_000_000_000)), 'number')
    assert.equal(await registry.bind(onchain), 'BadClaims')
  })

  onChain(
    'a credential that an operator revokes names the contract call that revokes its human, and that call works',
    async (here) => {
      const { registry } = await openWithKey(here)
      const wallet = newWallet()
      const someone = await enrolProven(harness, live)
      const { onchain, credentialId } = await mint(live.apiKey, someone.memberId, wallet)
      assert.equal(typeof (await registry.bind(onchain)), 'number')
      const { json } = await harness.callOperator('POST', `/operator/credentials/${credentialId}/revoke`, {
        key: operator,
        body: { reason: 'drill' },
      })
      assert.equal(json.registry.nullifier, nulOf(onchain))
      assert.deepEqual([json.registry.chain, json.registry.address], [84_532, address.toLowerCase()])
      await here.send({ to: registry.address, data: json.registry.revoke })
      assert.equal(await registry.isVerifiedHuman(wallet.address), false)
      assert.equal(await registry.bind(onchain), 'Stale')
    },
  )
}

const [first] = chains
const testOnFirstChain = (title: string, body: (here: Chain) => Promise<void>): void =>
  void test(title, { skip: first ? false : 'npm has no anvil for this system' }, async () => {
    assert.ok(first)
    await body(first)
  })

test('of two agents that request different wallets at the same moment, one gets a token', async () => {
  for (let round = 0; round < 10; round += 1) {
    const human = await enrolProven(harness, live)
    const again = await enrolProven(harness, other, { browser: human.browser })
    const proofs = [
      [live.apiKey, await proofFor(live.apiKey, human.memberId, newWallet())],
      [other.apiKey, await proofFor(other.apiKey, again.memberId, newWallet())],
    ] as const
    const answers = await Promise.all(proofs.map(async ([key, proof]) => mintWith(key, proof)))
    assert.equal(answers.filter(({ onchain }) => onchain !== undefined).length, 1)
  }
})

test('the token holds the wallet, a nullifier and the validity; any JWT library reads it, and it is not a credential', async () => {
  const wallet = newWallet()
  const { onchain, pohf_jwt } = await mint(live.apiKey, person.memberId, wallet)
  const credential = JSON.parse(Buffer.from(pohf_jwt.split('.')[1] ?? '', 'base64url').toString())
  const claims = JSON.parse(textOf(onchain))
  assert.deepEqual(Object.keys(claims), ['wallet', 'nul', 'iat', 'exp', 'registry', 'chain', 'iss'])
  assert.deepEqual([claims.registry, claims.chain], [address.toLowerCase(), 84_532])
  assert.equal(claims.wallet, wallet.address.toLowerCase())
  assert.deepEqual([claims.iat, claims.exp, claims.iss], [credential.iat, credential.exp, credential.iss])
  // Nothing of it can be found in what the agent's credential says, and the other way round.
  assert.ok(!JSON.stringify(credential).includes(claims.nul.slice(2)))
  assert.ok(!textOf(onchain).includes(credential.sub) && !textOf(onchain).includes(person.memberId))

  const keys = await jwks()
  const { kid } = (await keysForChain())[0] ?? {}
  assert.equal(Buffer.from(onchain.keyId.slice(2), 'hex').toString('base64url'), kid)
  const header = Buffer.from(JSON.stringify({ alg: 'ES256', typ: 'pohf-onchain+jwt', kid })).toString(
    'base64url',
  )
  const signature = Buffer.from(`${onchain.r.slice(2)}${onchain.s.slice(2)}`, 'hex').toString('base64url')
  const jwt = `${header}.${onchain.payload}.${signature}`
  const currentDate = harness.ctx.clock.now()
  const { payload } = await jwtVerify(jwt, createLocalJWKSet(keys), { typ: 'pohf-onchain+jwt', currentDate })
  assert.equal(payload['nul'], claims.nul)

  const policy = {
    issuer: harness.ctx.config.BASE_URL,
    jwks: keys,
    clock: () => harness.ctx.clock.now(),
    policy: { kinds: ['personhood'], minAssurance: 'low', minQuality: 0, status: 'skip' },
  } as const
  const result = await verifyCredential(jwt, policy)
  assert.equal(result.ok, false)
  assert.equal((await verifyCredential(pohf_jwt, policy)).ok, true)
})

test('a token without a stored credential, or changed in the table, is found by the key check', async () => {
  const check = async () =>
    (await harness.callOperator('GET', '/operator/keys/check', { key: operator })).json
  const { onchain, credentialId } = await mint(live.apiKey, person.memberId, newWallet())
  const before = await check()
  assert.equal(before.ok, true, JSON.stringify(before))
  // An attacker who controls the api can ask the signer for a token.
  const claims = JSON.parse(textOf(onchain))
  const signer = connectSigner(harness.ctx)
  await signer.signTyped('pohf-onchain+jwt', { ...claims, nul: `0x${'ee'.repeat(32)}` })
  await signer.close()
  const after = await check()
  assert.deepEqual([after.neverStored, after.ok], [before.neverStored + 1, true])
  const forged = Buffer.from(textOf(onchain).replace(/"nul":"0x../, '"nul":"0x00')).toString('base64url')
  await harness.owner.query('alter table credentials disable trigger user')
  const change = (payload: string) =>
    harness.owner.query(
      "update credentials set answer = jsonb_set(answer, '{onchain,payload}', to_jsonb($1::text)) where credential_id = $2",
      [payload, credentialId],
    )
  await change(forged)
  assert.deepEqual((await check()).differences, [{ credentialId, fault: 'not_journaled' }])
  await change(onchain.payload)
  await harness.owner.query('alter table credentials enable trigger user')
  assert.equal((await check()).ok, true)
})

test('the signer journals the token before it signs it', async () => {
  const { onchain } = await mint(live.apiKey, person.memberId, newWallet())
  const kid = Buffer.from(onchain.keyId.slice(2), 'hex').toString('base64url')
  const lines = readJournal(join(harness.ctx.config.KEYS_DIR, 'journal')).filter((line) => line.kid === kid)
  assert.ok(lines.length > 0)
  assert.match(lines.at(-1)?.id ?? '', /^pohf-onchain\+jwt:/)
})

test('without a wallet there is no token; a repeated call gets the same one; an unavailable signer costs nothing', async () => {
  const someone = await enrolProven(harness, live)
  const plain = await mintWith(live.apiKey, { memberId: someone.memberId })
  assert.equal(plain.onchain, undefined)
  const body = await proofFor(live.apiKey, someone.memberId, newWallet())
  const balance = async () =>
    (await harness.call('GET', '/api/agents/credits/balance', { key: live.apiKey })).json as object
  const before = await balance()
  await harness.stopSigner()
  const away = await harness.call('POST', '/api/agents/verify-personhood', { key: live.apiKey, body })
  assert.equal(away.status, 503, away.text)
  assert.deepEqual(await balance(), before)
  await harness.startSigner()
  const once = { key: live.apiKey, body, headers: { 'idempotency-key': 'on-chain-1' } }
  const one = await harness.call('POST', '/api/agents/verify-personhood', once)
  const two = await harness.call('POST', '/api/agents/verify-personhood', once)
  assert.equal(one.status, 200, one.text)
  assert.ok(one.json.onchain)
  assert.deepEqual(two.json, one.json)
  const used = await harness.call('POST', '/api/agents/verify-personhood', { key: live.apiKey, body })
  assert.equal(used.json.error, 'nonce_used')
})

testOnFirstChain(
  'an agent that moves a human’s wallet and keeps the new token to itself opens no second wallet at another agent',
  async (here) => {
    const { registry } = await openWithKey(here)
    const human = await enrolProven(harness, live)
    const again = await enrolProven(harness, other, { browser: human.browser })
    const [bound, moved] = [newWallet(), newWallet()]
    const token = await mint(live.apiKey, human.memberId, bound)
    assert.equal(typeof (await registry.bind(token.onchain)), 'number')
    await harness.advance(1_000)
    await mint(live.apiKey, human.memberId, moved)
    const asked = await ask(other.apiKey, again.memberId, moved)
    if (asked.onchain) await registry.bind(asked.onchain)
    assert.deepEqual(
      [await registry.isVerifiedHuman(bound.address), await registry.isVerifiedHuman(moved.address)],
      [true, false],
    )
    assert.equal(asked.onchainRefused, 'another_wallet')
    // Nor back and forth: the token for the other wallet is still valid.
    await harness.advance(1_000)
    await mint(live.apiKey, human.memberId, bound)
    assert.equal((await ask(other.apiKey, again.memberId, bound)).onchainRefused, 'another_wallet')
  },
)

testOnFirstChain(
  'a token is valid in one registry on one chain, for the wallet of a key too',
  async (here) => {
    const human = await enrolProven(harness, live)
    const wallet = newWallet()
    const { onchain } = await mint(live.apiKey, human.memberId, wallet)
    const second = await openWithKey(here, await deployRegistry(here, { keyDelaySeconds: 0 }))
    assert.equal(await second.registry.bind(onchain), 'WrongRegistry')
    const elsewhere = await startChain({ chainId: 8_453 })
    assert.ok(elsewhere)
    try {
      const twin = await deployRegistry(elsewhere, { keyDelaySeconds: 0 })
      assert.equal(twin.address, address, 'the same address on another chain')
      assert.equal(await (await openWithKey(elsewhere, twin)).registry.bind(onchain), 'WrongChain')
    } finally {
      await elsewhere.stop()
    }
    const { registry } = await openWithKey(here)
    assert.equal(typeof (await registry.bind(onchain)), 'number')
    assert.equal(await registry.isVerifiedHuman(wallet.address), true)
  },
)

testOnFirstChain('a contract wallet is bound on its own chain', async (here) => {
  const { registry } = await openWithKey(here)
  const { memberId } = await enrolProven(harness, live)
  const holder = newWallet()
  const code = compile(`pragma solidity ^0.8.0; contract Owned {
    address immutable owner; constructor(address of_) { owner = of_; }
    function isValidSignature(bytes32 hash, bytes calldata sig) external view returns (bytes4) {
      return ecrecover(hash, uint8(sig[64]), bytes32(sig[0:32]), bytes32(sig[32:64])) == owner ? bytes4(0x1626ba7e) : bytes4(0);
    } }`)['Owned']
  const parameters = encodeAbiParameters([{ type: 'address' }], [holder.address])
  const { address: wallet } = await here.deploy(code?.bytecode ?? '0x', parameters)
  const proof = await proofFor(live.apiKey, memberId, holder, wallet)
  const { onchain } = await mintWith(live.apiKey, proof)
  assert.ok(onchain)
  assert.match(textOf(onchain), /^.{163},"registry":"0x[0-9a-f]{40}","chain":84532,"iss":/)
  assert.equal(typeof (await registry.bind(onchain)), 'number')
  assert.equal(await registry.isVerifiedHuman(wallet), true)
})

// Last: it revokes the deployment's key and moves time by a quarter of a year.
testOnFirstChain(
  'a registry record expires with its credential, is renewed by the next, and is revoked with its key',
  async (here) => {
    const { registry, key } = await openWithKey(here)
    const { memberId } = await enrolProven(harness, live)
    const wallet = newWallet()
    assert.equal(typeof (await registry.bind((await mint(live.apiKey, memberId, wallet)).onchain)), 'number')
    const pass = async (days: number) => {
      await harness.advance(days * day * 1_000)
      await here.rpc('evm_increaseTime', [days * day])
      await here.rpc('anvil_mine', ['0x1'])
    }
    await pass(70)
    assert.equal(await registry.isVerifiedHuman(wallet.address), true)
    assert.equal(typeof (await registry.bind((await mint(live.apiKey, memberId, wallet)).onchain)), 'number')
    await pass(70)
    assert.equal(await registry.isVerifiedHuman(wallet.address), true, 'renewed')
    await pass(21)
    assert.equal(await registry.isVerifiedHuman(wallet.address), false, '91 days after the last token')
    const last = await mint(live.apiKey, memberId, wallet)
    assert.equal(typeof (await registry.bind(last.onchain)), 'number')

    const revoked = await harness.callOperator('POST', `/operator/keys/${key.kid}/revoke`, {
      key: operator,
      body: { reason: 'drill' },
    })
    assert.equal(revoked.status, 200, revoked.text)
    await here.send({ to: registry.address, data: key.revokeKey })
    assert.equal(await registry.isVerifiedHuman(wallet.address), false)
    await harness.advance(1_000)
    const next = await mint(live.apiKey, memberId, wallet)
    assert.notEqual(next.onchain.keyId, key.keyId)
    assert.equal(await registry.bind(next.onchain), 'UnknownKey')
    const [successor] = await keysForChain()
    assert.ok(successor && successor.keyId === next.onchain.keyId)
    await here.send({ to: registry.address, data: successor.addKey })
    assert.equal(typeof (await registry.bind(next.onchain)), 'number')
    assert.equal(await registry.isVerifiedHuman(wallet.address), true)
  },
)

// Last: it moves the service's time far ahead of the chains'.
test('a human has one on-chain wallet across all agents, and a different nullifier at each', async () => {
  const wallet = newWallet()
  const human = await enrolProven(harness, live)
  const again = await enrolProven(harness, other, { browser: human.browser })
  const here = await mint(live.apiKey, human.memberId, wallet)
  const refused = await ask(other.apiKey, again.memberId, newWallet())
  assert.equal(refused.onchain, undefined)
  assert.equal(refused.onchainRefused, 'another_wallet')
  const there = await mint(other.apiKey, again.memberId, wallet)
  assert.notEqual(nulOf(there.onchain), nulOf(here.onchain))
  // Both agents' tokens name it now, and only one of them could move its own.
  assert.equal((await ask(live.apiKey, human.memberId, newWallet())).onchainRefused, 'another_wallet')
  await harness.advance(91 * 86_400_000)
  assert.ok((await ask(live.apiKey, human.memberId, newWallet())).onchain)

  // An agent that has moved a human shares the new wallet once its token for the old one has expired.
  const mover = await enrolProven(harness, live)
  const joiner = await enrolProven(harness, other, { browser: mover.browser })
  const kept = newWallet()
  await mint(live.apiKey, mover.memberId, newWallet())
  await harness.advance(60 * 86_400_000)
  await mint(live.apiKey, mover.memberId, kept)
  assert.equal((await ask(other.apiKey, joiner.memberId, kept)).onchainRefused, 'another_wallet')
  await harness.advance(31 * 86_400_000)
  assert.ok((await ask(other.apiKey, joiner.memberId, kept)).onchain)
})
