import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { compile } from '@pohf/chain'
import { encodeAbiParameters } from 'viem'
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

  test('a contract wallet pays with a signature of any length that it accepts; a stranger for it does not', async () => {
    const holder = makePayer()
    const bytecode = compile(walletSource)['Wallet']?.bytecode
    assert.ok(bytecode)
    const { address } = await chain.deploy(
      bytecode,
      encodeAbiParameters([{ type: 'address' }], [holder.account.address]),
    )
    await chain.mint(address, 1_000_000n)
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

  type FacilitatorRequest = {
    paymentPayload: { payload: Parameters<typeof fixture.submitAsStranger>[0]['payload'] }
  }
  type Behaviour = 'honest' | 'liar' | 'silent' | 'refuses' | 'away'
  /** A facilitator whose behaviour the test chooses; `calls` are the endpoints that the server called. */
  const startFacilitator = async () => {
    const state: { behaviour: Behaviour; calls: string[] } = { behaviour: 'honest', calls: [] }
    const respond = async (endpoint: string, body: string): Promise<object | undefined> => {
      state.calls.push(endpoint)
      const { behaviour } = state
      const { payload } = (JSON.parse(body) as FacilitatorRequest).paymentPayload
      if (behaviour === 'away') return undefined
      if (endpoint === 'verify')
        return behaviour === 'refuses'
          ? { isValid: false, invalidReason: 'insufficient_funds' }
          : { isValid: true, payer: payload.authorization.from }
      if (behaviour === 'liar')
        return { success: true, transaction: `0x${'ab'.repeat(32)}`, network: 'eip155:84532' }
      const transaction = await fixture.submitAsStranger({ payload })
      return behaviour === 'silent'
        ? { success: false, errorReason: 'settle_timeout', transaction: '', network: 'eip155:84532' }
        : { success: true, transaction, network: 'eip155:84532' }
    }
    const server = createServer((request, response) => {
      let body = ''
      request.on('data', (chunk: Buffer) => (body += chunk.toString()))
      const answer = async () => {
        const value = await respond(request.url?.split('/').at(-1) ?? '', body)
        if (!value) return response.destroy()
        return response.setHeader('content-type', 'application/json').end(JSON.stringify(value))
      }
      request.on('end', () => void answer().catch(() => response.destroy()))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    after(() => {
      server.closeAllConnections()
      server.close()
    })
    const { port } = server.address() as AddressInfo
    return { state, url: `http://127.0.0.1:${port}/x402/` }
  }

  test('a facilitator submits for us, and only the chain decides', async () => {
    const { state, url } = await startFacilitator()
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
