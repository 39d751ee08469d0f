import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compile } from '@pohf/chain'
import { encodeAbiParameters, type Hex } from 'viem'
import { startFacilitator } from '../../test/fixtures/payments/facilitator.ts'
import { encode, makePayer } from '../../test/fixtures/payments/payer.ts'
import { readConfig } from '../platform/ops/config.ts'
import { makeSettlement } from '../payments/index.ts'
import { gasKeysFile, makeX402Clients, startPurchaseHarness } from '../../test/fixtures/payments/purchases.ts'
import { startHarness } from '../../test/fixtures/harness.ts'

const walletSource = `// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;
contract Wallet {
  address owner;
  constructor(address who) { owner = who; }
  function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
    if (signature.length != 65 && signature.length != 97) return 0xffffffff;
    bytes32 r = bytes32(signature[0:32]);
    bytes32 s = bytes32(signature[32:64]);
    return ecrecover(hash, uint8(signature[64]), r, s) == owner ? bytes4(0x1626ba7e) : bytes4(0xffffffff);
  }
}`

const fixture = await startPurchaseHarness()
if (!fixture) test('payers and facilitators', { skip: 'no chain runs on this system' }, () => undefined)
else {
  const { chain, node, requestChallenge, pay, balanceOf, settings } = fixture
  const price = 10_000n
  /** A contract wallet with a dollar, which accepts the signatures of this key. */
  const deployWallet = async (holder: ReturnType<typeof makePayer>): Promise<Hex> => {
    const bytecode = compile(walletSource)['Wallet']?.bytecode
    assert.ok(bytecode)
    const { address } = await chain.deploy(
      bytecode,
      encodeAbiParameters([{ type: 'address' }], [holder.account.address]),
    )
    await chain.mint(address, 1_000_000n)
    return address
  }

  test('a contract wallet pays with a signature of any length that it accepts; a stranger for it does not', async () => {
    const holder = makePayer()
    const address = await deployWallet(holder)
    const signedBy = async (signer: typeof holder, more: string) => {
      const { v2 } = await requestChallenge()
      const seconds = Math.floor(Date.now() / 1_000)
      const authorization = holder.authorize(v2, seconds, { from: address })
      const signature = `${await signer.sign(v2, authorization)}${more}`
      return { x402Version: 2, payload: { signature, authorization }, accepted: v2, extensions: {} }
    }
    for (const more of ['', '00'.repeat(32)]) {
      const answer = await pay({ 'payment-signature': encode(await signedBy(holder, more)) })
      assert.equal(answer.status, 200, answer.text)
      assert.equal(answer.json.payment.payer, address.toLowerCase())
    }
    assert.equal(await balanceOf(address), 1_000_000n - 2n * price)
    for (const more of ['', '00'.repeat(32), '6492'.repeat(16)]) {
      const answer = await pay({ 'payment-signature': encode(await signedBy(makePayer(), more)) })
      assert.equal(answer.status, 402, answer.text)
      assert.equal(answer.json.error, 'payment_invalid')
    }
    assert.equal(await balanceOf(address), 1_000_000n - 2n * price)
  })

  test('who names the wallet of another with random signatures, or makes wallets, uses up the limit of one network alone', async () => {
    const limited = await startHarness({ ...settings, ADDRESS_LIMITS: 'on', TRUSTED_PROXIES: '127.0.0.1' })
    const buyers = makeX402Clients(chain, limited)
    const victim = await buyers.makeFundedPayer()
    const holder = makePayer()
    const wallet = await deployWallet(holder)
    const { v2 } = await buyers.requestChallenge()
    const seconds = Math.floor(Date.now() / 1_000)
    const payFrom = async (address: string, from: Hex, signer = makePayer()) => {
      const authorization = signer.authorize(v2, seconds, { from })
      const signature = await signer.sign(v2, authorization)
      const payment = { x402Version: 2, payload: { signature, authorization }, accepted: v2, extensions: {} }
      // Without the purchase id: it is for one purchase.
      const { purchaseId: _, ...extra } = v2.extra
      return buyers.pay({
        'payment-signature': encode({ ...payment, accepted: { ...v2, extra } }),
        'x-forwarded-for': address,
      })
    }
    const [stranger, elsewhere] = ['192.0.2.9', '198.51.100.7']
    // A wallet that the chain has proven takes nothing from its network.
    assert.equal((await payFrom(stranger, wallet, holder)).status, 200)
    const attack = await Promise.all(
      Array.from({ length: 125 }, () => payFrom(stranger, victim.account.address)),
    )
    const countOf = (status: number) => attack.filter((answer) => answer.status === status).length
    assert.deepEqual([countOf(402), countOf(429)], [60, 65])
    // By its key the victim pays even from the network of the stranger; a contract wallet, from any other.
    assert.equal((await payFrom(stranger, victim.account.address, victim)).status, 200)
    assert.equal((await payFrom(elsewhere, wallet, holder)).status, 200)
    // A key costs nothing: new wallets without money use up the limit of their network too.
    const poor = await Promise.all(
      Array.from({ length: 62 }, () => {
        const signer = makePayer()
        return payFrom('203.0.113.5', signer.account.address, signer)
      }),
    )
    assert.equal(poor.filter(({ status }) => status === 429).length, 2)
  })

  test('a facilitator submits for us, and only the chain decides', async () => {
    const { state, url } = await startFacilitator(fixture)
    const { X402_GAS_KEYS_FILE: _, ...others } = settings
    const harness = await startHarness({ ...others, X402_FACILITATOR_URL: url })
    const buyers = makeX402Clients(chain, harness)

    const honest = await buyers.makeFundedPayer()
    const good = await buyers.buy(honest)
    assert.equal(good.answer.status, 200, good.answer.text)
    assert.deepEqual(state.calls, ['verify', 'settle'])
    assert.equal(await balanceOf(honest.account.address), 1_000_000n - price)

    state.behaviour = 'liar'
    const lied = await buyers.buy(await buyers.makeFundedPayer())
    assert.equal(lied.answer.status, 202, lied.answer.text)
    assert.equal(lied.answer.json.pohf_jwt, undefined)

    state.behaviour = 'silent'
    const unheard = await buyers.buy(await buyers.makeFundedPayer())
    assert.equal(unheard.answer.status, 200, unheard.answer.text)

    // It calls an authorization valid that is in a block already; it paid at another deployment.
    state.behaviour = 'honest'
    const elsewhere = await fixture.buy(await fixture.makeFundedPayer())
    assert.equal(elsewhere.answer.status, 200, elsewhere.answer.text)
    const { extra: offered, ...accepted } = elsewhere.payment.accepted
    const { purchaseId: _id, ...extra } = offered
    const settledBefore = state.calls.length
    const reused = await buyers.pay({
      'payment-signature': encode({ ...elsewhere.payment, accepted: { ...accepted, extra } }),
    })
    assert.equal(reused.status, 409, reused.text)
    assert.deepEqual(state.calls.slice(settledBefore), ['verify'])

    state.behaviour = 'refuses'
    const refused = await buyers.buy(await buyers.makeFundedPayer())
    assert.equal(refused.answer.status, 402, refused.answer.text)
    state.behaviour = 'away'
    const away = await buyers.buy(await buyers.makeFundedPayer())
    assert.equal(away.answer.status, 503, away.answer.text)
    assert.equal(away.answer.json.error, 'chain_unreachable')
  })

  test('with a node without eth_sendRawTransactionSync the receipt is polled', async () => {
    node.setFaultRule((method) =>
      method === 'eth_sendRawTransactionSync'
        ? { error: { code: -32_601, message: 'the method does not exist' } }
        : 'pass',
    )
    const { answer } = await fixture.buy(await fixture.makeFundedPayer())
    node.setFaultRule(() => 'pass')
    assert.equal(answer.status, 200, answer.text)
    const { eth_sendRawTransaction: sent } = node.takeCounts()
    assert.equal(sent, 1)
  })

  test('payments never go to a gas account, and a keys file with an invalid key is refused', () => {
    const { ctx } = fixture.harness
    const settle = (change: Partial<typeof ctx.config>) =>
      makeSettlement({ ...ctx, config: { ...ctx.config, ...change } })
    const [gas] = chain.gasAccounts
    assert.throws(() => settle({ X402_PAY_TO: gas.address }), /X402_PAY_TO is one of the gas accounts/)
    const secret = 'ab'.repeat(31)
    assert.throws(
      () => settle({ X402_GAS_KEYS_FILE: gasKeysFile([gas.privateKey, secret]) }),
      (error: Error) => /key 2 is not/.test(error.message) && !error.message.includes(secret),
    )
    assert.throws(() => settle({ X402_GAS_KEYS_FILE: gasKeysFile([]) }), /1 to 64 keys/)
    assert.throws(
      () =>
        readConfig({
          DATABASE_URL: 'postgres://x/y',
          ...settings,
          X402_FACILITATOR_URL: 'http://127.0.0.1:1',
        }),
      /exclude each other/,
    )
  })
}
