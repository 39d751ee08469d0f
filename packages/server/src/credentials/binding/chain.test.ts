import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { compile, startChain, TestDollar, usdcAddress } from '@pohf/chain'
import { decodeJwt } from 'jose'
import { encodeFunctionData, type Address, type Hex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { enrolMember, registerConfirmedAgent } from '../../../test/fixtures/people/member.ts'

/** A fake RPC node; each test sets its responses. */
const behaviour: { answer: () => { status: number; body: string } | undefined } = { answer: () => undefined }
const faulty = createServer((request, response) => {
  request.resume().on('end', () => {
    const answer = behaviour.answer()
    if (answer) response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.body)
  })
})
await new Promise<void>((resolve) => faulty.listen(0, '127.0.0.1', resolve))
after(() => {
  faulty.closeAllConnections()
  faulty.close()
})
const faultyUrl = `http://127.0.0.1:${(faulty.address() as AddressInfo).port}`

const confirmations = 5
const chain = await startChain({ chainId: 84_532 })
after(() => chain?.stop())
const token = usdcAddress.toLowerCase()
const harness = await startHarness({
  EVM_RPC_URLS: `${chain ? `84532=${chain.url},10=${chain.url},` : ''}7=${faultyUrl},8=http://127.0.0.1:9`,
  BINDING_TOKENS: `usdc:84532=${token},ousd:84532=0x${'0d'.repeat(20)},usdc:7=${token},usdc:8=${token},usdc:10=${token}`,
  BINDING_CONFIRMATIONS: String(confirmations),
})
const live = await registerConfirmedAgent(harness, 'live', 'agent@example.com')
const ada = await enrolMember(harness, live)
const ben = await enrolMember(harness, live)
const bindWithoutProof = (body: object, memberId = ada.memberId) =>
  harness.call('POST', '/api/agents/bind-transaction', { key: live.apiKey, body: { memberId, ...body } })
/** A wallet signs a challenge of the service. */
const proofBy = async (privateKey: Hex) => {
  const account = privateKeyToAccount(privateKey)
  const { json } = await harness.call('POST', '/api/agents/wallet/challenge', {
    key: live.apiKey,
    body: { wallet: account.address },
  })
  const walletSig = await account.signMessage({ message: json.message as string })
  return { wallet: account.address, walletSig, walletNonce: json.nonce as string }
}
/** Binds with the proof of the wallet that pays in these tests. */
const bind = async (body: object, memberId?: string) =>
  bindWithoutProof({ ...(chain ? await proofBy(chain.buyer.privateKey) : {}), ...body }, memberId)
const bindingOf = (jwt: string) => decodeJwt(jwt)['binding'] as Record<string, unknown>

/** A test that uses the chain; skipped when anvil cannot run. */
const testOnChain = (name: string, run: (on: NonNullable<typeof chain>) => Promise<void>): void => {
  void test(name, { skip: chain ? false : 'anvil is not built for this system' }, async () => {
    if (chain) await run(chain)
  })
}
const mine = (blocks: number) => chain?.rpc('anvil_mine', [`0x${blocks.toString(16)}`])
const transferData = (to: Address, amount: bigint) =>
  encodeFunctionData({ abi: TestDollar.abi, functionName: 'transfer', args: [to, amount] })
const send = async (transaction: { to?: Address; data: Hex; gas?: Hex }): Promise<Hex> =>
  (await chain?.rpc('eth_sendTransaction', [
    { from: chain.buyer.address, gas: '0x4c4b40', ...transaction },
  ])) as Hex
const pay = (to: Address, amount: bigint, of: Address = usdcAddress) =>
  send({ to: of, data: transferData(to, amount) })
const refOf = (hash: string, rail = 'usdc') => `${rail}:eip155:84532/tx:${hash}`
const refusal = async (body: object, memberId?: string) => {
  const { status, json } = await bind(body, memberId)
  return [status, json.error, json.details?.[0]?.code]
}
const notSettled = (code: string) => [422, 'payment_not_settled', code]
const merchant: Address = `0x${'5e'.repeat(20)}`

testOnChain(
  'a settled transfer is verified: amount, currency, payee and time are in the credential',
  async () => {
    const hash = await pay(merchant, 2_500_000n)
    await mine(confirmations)
    const { status, json, text } = await bind({ paymentRef: refOf(hash) })
    assert.equal(status, 200, text)
    assert.deepEqual(json.binding, { paymentRef: refOf(hash), rail: 'usdc', assurance: 'verified' })
    const { checked_at: checkedAt, ...binding } = bindingOf(json.pohf_jwt)
    assert.deepEqual(binding, {
      payment_ref: refOf(hash),
      rail: 'usdc',
      assurance: 'verified',
      human: 'member',
      human_ref: decodeJwt(json.pohf_jwt).sub,
      amount: '2.5',
      currency: 'USDC',
      payee: merchant,
    })
    assert.equal(checkedAt, decodeJwt(json.pohf_jwt).iat)
    assert.equal((await bind({ paymentRef: refOf(hash) })).json.pohf_jwt, json.pohf_jwt)
  },
)

testOnChain('the transaction of a stranger is asserted, and only its payer makes it verified', async (on) => {
  const hash = await pay(merchant, 1_000_000n)
  await mine(confirmations)
  const paymentRef = refOf(hash)
  const stranger = await bindWithoutProof({ paymentRef })
  assert.equal(stranger.status, 200, stranger.text)
  assert.equal(stranger.json.binding.assurance, 'asserted')
  assert.deepEqual(
    Object.keys(bindingOf(stranger.json.pohf_jwt)).toSorted(),
    ['assurance', 'human', 'human_ref', 'payment_ref', 'rail'],
    'no amount and no payee of a payment whose payer is not proven',
  )
  const other = await bindWithoutProof({ paymentRef, ...(await proofBy(generatePrivateKey())) })
  assert.deepEqual([other.status, other.json.details?.[0]?.code], [422, 'wrong_payer'])
  const forged = { ...(await proofBy(generatePrivateKey())), wallet: on.buyer.address }
  assert.equal((await bindWithoutProof({ paymentRef, ...forged })).json.error, 'wallet_signature_invalid')
  const { walletSig: _, ...incomplete } = await proofBy(on.buyer.privateKey)
  assert.equal((await bindWithoutProof({ paymentRef, ...incomplete })).json.error, 'validation_failed')
  const wrongRail = await bindWithoutProof({
    paymentRef: 'pi_0000',
    ...(await proofBy(on.buyer.privateKey)),
  })
  assert.equal(wrongRail.json.details[0].code, 'no_chain')
  const proof = await proofBy(on.buyer.privateKey)
  const verified = await bindWithoutProof({ paymentRef, ...proof })
  assert.equal(verified.json.binding?.assurance, 'verified', verified.text)
  const again = await bindWithoutProof({ paymentRef, ...proof })
  assert.equal(again.json.pohf_jwt, verified.json.pohf_jwt, 'a repeat is answered with the stored credential')
  const second = await pay(merchant, 1_000_000n)
  await mine(confirmations)
  const replayed = await bindWithoutProof({ paymentRef: refOf(second), ...proof })
  assert.deepEqual([replayed.status, replayed.json.error], [409, 'nonce_used'], 'a proof works once')
  assert.equal((await bind({ paymentRef }, ben.memberId)).json.error, 'payment_ref_bound')
})

testOnChain('one payment binds one human under every reference to it', async (on) => {
  const hash = await pay(merchant, 1_000_000n)
  await mine(confirmations)
  const receipt = (await on.rpc('eth_getTransactionReceipt', [hash])) as { logs: { logIndex: Hex }[] }
  const log = Number(receipt.logs[0]?.logIndex)
  assert.equal((await bind({ paymentRef: refOf(hash) })).status, 200)
  for (const name of [
    refOf(hash, 'x402'),
    `mpp:evm:eip155:84532/tx:${hash}`,
    `${refOf(hash)}/log:${log}`,
    refOf(hash).toUpperCase(),
  ]) {
    assert.deepEqual(
      await refusal({ paymentRef: name }, ben.memberId),
      [409, 'payment_ref_bound', undefined],
      name,
    )
    const same = await bind({ paymentRef: name })
    assert.equal(same.json.binding?.assurance, 'verified', name)
  }
})

testOnChain(
  'too few blocks: refused, and verified as soon as there are enough, not one earlier',
  async (on) => {
    const hash = await pay(merchant, 1_000_000n)
    // The node answers before it has made the block.
    while (!(await on.rpc('eth_getTransactionReceipt', [hash]))) await setTimeout(10)
    for (let blocks = 1; blocks < confirmations; blocks++) {
      assert.deepEqual(await refusal({ paymentRef: refOf(hash) }), notSettled('unconfirmed'), `${blocks}`)
      await mine(1)
    }
    assert.equal((await bind({ paymentRef: refOf(hash) })).json.binding?.assurance, 'verified')
  },
)

testOnChain('pending, reverted and unknown transactions are not settled', async (on) => {
  await on.rpc('evm_setAutomine', [false])
  const waits = await pay(merchant, 1_000_000n)
  assert.deepEqual(await refusal({ paymentRef: refOf(waits) }), notSettled('pending'))
  await on.rpc('evm_setAutomine', [true])
  await mine(confirmations)
  assert.equal((await bind({ paymentRef: refOf(waits) })).json.binding?.assurance, 'verified')
  const reverted = await pay(merchant, 10n ** 30n)
  await mine(confirmations)
  assert.deepEqual(await refusal({ paymentRef: refOf(reverted) }), notSettled('reverted'))
  assert.deepEqual(await refusal({ paymentRef: refOf(`0x${'9'.repeat(64)}`) }), notSettled('unknown'))
})

const { Imitation, Splitter } = compile(`
// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.0;
interface Token { function transferFrom(address, address, uint256) external returns (bool); }
contract Splitter {
  function split(Token token, address a, address b, uint256 amount) external {
    token.transferFrom(msg.sender, a, amount);
    token.transferFrom(msg.sender, b, amount);
  }
}
contract Imitation {
  event Transfer(address indexed from, address indexed to, uint256 value);
  function transfer(address to, uint256 value) external returns (bool) { emit Transfer(msg.sender, to, value); return true; }
}`)

testOnChain('another token, no transfer, or a zero amount: wrong token', async (on) => {
  assert.ok(Imitation)
  const { address } = await on.deploy(Imitation.bytecode)
  const fake = await pay(merchant, 5_000_000n, address)
  const plain = await send({ to: merchant, data: '0x' })
  const empty = await pay(merchant, 0n)
  const real = await pay(merchant, 3n)
  await mine(confirmations)
  for (const hash of [fake, plain, empty])
    assert.deepEqual(await refusal({ paymentRef: refOf(hash) }), notSettled('wrong_token'))
  assert.deepEqual(
    await refusal({ paymentRef: refOf(real, 'ousd') }),
    notSettled('wrong_token'),
    'USDC is not OUSD',
  )
})

testOnChain('two transfers in one transaction: the log must be named, or the payee', async (on) => {
  assert.ok(Splitter)
  const { address } = await on.deploy(Splitter.bytecode)
  await send({
    to: usdcAddress,
    data: encodeFunctionData({ abi: TestDollar.abi, functionName: 'approve', args: [address, 10n ** 9n] }),
  })
  const other: Address = `0x${'77'.repeat(20)}`
  const hash = await send({
    to: address,
    data: encodeFunctionData({
      abi: Splitter.abi,
      functionName: 'split',
      args: [usdcAddress, merchant, other, 1_500_000n],
    }),
  })
  await mine(confirmations)
  const several = await bind({ paymentRef: refOf(hash) })
  assert.deepEqual([several.status, several.json.details[0].code], [400, 'log_needed'])
  const receipt = (await on.rpc('eth_getTransactionReceipt', [hash])) as {
    logs: { logIndex: Hex; topics: Hex[] }[]
  }
  const logs = receipt.logs
    .filter(({ topics }) => topics[0]?.startsWith('0xddf252ad'))
    .map(({ logIndex }) => Number(logIndex))
  assert.equal(logs.length, 2)
  assert.match(several.json.details[0].message, new RegExp(`/log:${logs[0]} to /log:${logs[1]}`))
  assert.deepEqual(await refusal({ paymentRef: `${refOf(hash)}/log:999999` }), notSettled('wrong_log'))
  const first = await bind({ paymentRef: `${refOf(hash)}/log:${logs[0]}` })
  assert.equal(bindingOf(first.json.pohf_jwt)['payee'], merchant)
  // The other transfer is another payment, which may bind another human.
  const second = await bind(
    { paymentRef: refOf(hash), payee: other.toUpperCase().replace('0X', '0x') },
    ben.memberId,
  )
  assert.equal(second.status, 200, second.text)
  assert.equal(bindingOf(second.json.pohf_jwt)['payee'], other)
})

testOnChain('a payee that was not paid is refused', async () => {
  const hash = await pay(merchant, 1_000_000n)
  await mine(confirmations)
  const payee = `0x${'99'.repeat(20)}`
  assert.deepEqual(await refusal({ paymentRef: refOf(hash), payee }), notSettled('wrong_payee'))
  assert.equal((await bind({ paymentRef: refOf(hash), payee: merchant })).json.binding?.assurance, 'verified')
})

testOnChain('a test key and test:true call no chain', async () => {
  const paymentRef = refOf(`0x${'8'.repeat(64)}`)
  assert.equal((await bind({ paymentRef, test: true })).json.binding.assurance, 'test')
  const sandbox = await harness.register('test')
  const { json } = await harness.call('POST', '/api/agents/bind-transaction', {
    key: sandbox.apiKey,
    body: { paymentRef, memberId: 'm' },
  })
  assert.equal(json.binding.assurance, 'test')
})

const on = (chainId: number) => ({ paymentRef: `usdc:eip155:${chainId}/tx:0x${'a1'.repeat(32)}` })
test('a chain without a node or without a token is asserted; one that does not answer is 503 and binds nothing', async () => {
  assert.equal((await bind(on(1))).json.binding.assurance, 'asserted', 'no node')
  assert.deepEqual(await refusal(on(8)), [503, 'chain_unreachable', undefined])
  const answers: Record<string, (typeof behaviour)['answer']> = {
    'an error page': () => ({ status: 502, body: '<html>' }),
    'no JSON': () => ({ status: 200, body: 'null' }),
    'too few answers': () => ({ status: 200, body: '[]' }),
    'an error for one question': () => ({
      status: 200,
      body: JSON.stringify([
        { id: 0, result: '0x7' },
        { id: 1, error: { code: -32_005, message: 'limit' } },
        { id: 2, result: null },
        { id: 3, result: '0x10' },
      ]),
    }),
    'a receipt of another form': () => ({
      status: 200,
      body: JSON.stringify([
        { id: 0, result: '0x7' },
        { id: 1, result: { status: '0x1' } },
        { id: 2, result: {} },
        { id: 3, result: '0x10' },
      ]),
    }),
    nothing: () => undefined,
  }
  for (const [name, answer] of Object.entries(answers)) {
    behaviour.answer = answer
    const { status, json, headers } = await bind(on(7))
    assert.deepEqual([status, json.error, headers['retry-after']], [503, 'chain_unreachable', '5'], name)
  }
  const { rows } = await harness.owner.query(
    "select count(*)::int as n from payment_bindings where payment_ref like 'usdc:eip155:7/%' or payment_ref like 'usdc:eip155:8/%'",
  )
  assert.equal(rows[0].n, 0)
  assert.ok(!harness.lines.join('').includes(faultyUrl), 'the address of a node is never logged')
})

testOnChain('a node of another chain under this id is 503', async () => {
  const { status, json } = await bind({ paymentRef: `usdc:eip155:10/tx:0x${'a2'.repeat(32)}` })
  assert.deepEqual([status, json.error], [503, 'chain_unreachable'])
})
