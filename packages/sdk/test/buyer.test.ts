import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { freePort } from '../../server/dev/cluster.ts'
import { startHarness } from '../../server/test/harness.ts'
import { createBuyer, PohfError, PohfUnreachable, PurchaseError, type TypedData } from '../src/index.ts'

const port = await freePort()
const baseUrl = `http://127.0.0.1:${port}`
const harness = await startHarness({ BASE_URL: baseUrl })
await harness.app.api.listen({ port, host: '127.0.0.1' })

/** A wallet that remembers what it was asked to sign. */
const makeWallet = () => {
  const account = privateKeyToAccount(generatePrivateKey())
  const asked: TypedData[] = []
  return {
    address: account.address,
    asked,
    signTypedData: (data: TypedData) => (asked.push(data), account.signTypedData(data)),
  }
}
const failsWith =
  (code: string, charged = 'no') =>
  (error: unknown) => {
    assert.ok(error instanceof PurchaseError, String(error))
    assert.deepEqual([error.code, error.charged], [code, charged], error.message)
    return true
  }

test('a price above the cap, another network, token or recipient is refused, and nothing is signed', async () => {
  const wallet = makeWallet()
  const settings = { baseUrl, wallet, maxUsd: 1 }
  for (const [limits, code] of [
    [{ maxUsd: 0.009_999 }, 'price_above_cap'],
    [{ networks: ['base'] as const }, 'terms_refused'],
    [{ networks: [] }, 'terms_refused'],
    [{ payTo: wallet.address }, 'terms_refused'],
    [{ asset: wallet.address }, 'terms_refused'],
  ] as const)
    await assert.rejects(createBuyer({ ...settings, ...limits }).buy('wf_test_ok'), failsWith(code))
  assert.equal(wallet.asked.length, 0)
})

test('a cap that is no number is a mistake of the caller', async () => {
  for (const maxUsd of [Number.NaN, 0, -1, Number.POSITIVE_INFINITY])
    await assert.rejects(createBuyer({ baseUrl, wallet: makeWallet(), maxUsd }).buy('wf_test_ok'), TypeError)
})

test('nothing to sell, nobody there, and a wallet that says no: nothing is charged', async () => {
  const wallet = makeWallet()
  await assert.rejects(createBuyer({ baseUrl, wallet, maxUsd: 1 }).buy('wf_none'), (error) => {
    assert.ok(error instanceof PurchaseError && error.cause instanceof PohfError)
    assert.equal(error.cause.code, 'out_of_stock')
    return failsWith('refused')(error)
  })
  const away = createBuyer({ baseUrl: 'http://127.0.0.1:1', wallet, maxUsd: 1 })
  await assert.rejects(away.buy('wf_test_ok'), PohfUnreachable)
  const unwilling = { ...wallet, signTypedData: () => Promise.reject(new Error('no')) }
  await assert.rejects(
    createBuyer({ baseUrl, wallet: unwilling, maxUsd: 1 }).buy('wf_test_ok'),
    failsWith('not_signed'),
  )
  assert.equal(wallet.asked.length, 0)
})

/** Mostly what is good, so that some challenges get as far as the wallet. */
const mostly = <T>(good: T, other: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 6, arbitrary: fc.constant(good) }, { weight: 1, arbitrary: other })

test('whatever a challenge says, nothing beyond the limits is ever signed', async () => {
  const usdc = '0x036CbD53842c5426634e7929541eC2318f3dCF7e'
  const payTo = '0x1111111111111111111111111111111111111111'
  const amounts = fc.oneof(fc.constantFrom('10000', '100000', '100001', '-1', '1e3'), fc.nat().map(String))
  const entry = fc.record({
    scheme: mostly('exact', fc.string()),
    network: mostly('base-sepolia', fc.constantFrom('base', 'toString', 'eip155:84532', '')),
    maxAmountRequired: amounts,
    payTo: mostly(payTo, fc.constantFrom(usdc, '0x', 'me')),
    asset: mostly(usdc, fc.constantFrom(payTo, '0x', 'gold')),
    maxTimeoutSeconds: mostly(120, fc.oneof(fc.integer(), fc.double())),
    extra: mostly<unknown>({ name: 'USDC', version: '2' }, fc.oneof(fc.object(), fc.constant(null))),
  })
  const challenge = fc.oneof(
    {
      weight: 9,
      arbitrary: fc.record({ accepts: fc.array(entry, { maxLength: 4 }), purchase_id: fc.string() }),
    },
    { weight: 1, arbitrary: fc.anything() },
  )
  let signed = 0
  await fc.assert(
    fc.asyncProperty(challenge, async (body) => {
      const wallet = makeWallet()
      const answers = [
        new Response(JSON.stringify(body) ?? 'null', {
          status: 402,
          headers: { 'content-type': 'application/json' },
        }),
        new Response('{"error":"payment_invalid"}', {
          status: 402,
          headers: { 'content-type': 'application/json' },
        }),
      ]
      const through = async () => answers.shift() ?? Response.error()
      const buyer = createBuyer({
        baseUrl,
        wallet,
        maxUsd: 0.1,
        payTo,
        networks: ['base-sepolia'],
        fetch: through,
      })
      await assert.rejects(buyer.buy('wf_test_ok'), PurchaseError)
      for (const { domain, message } of wallet.asked) {
        signed += 1
        assert.ok(message.value <= 100_000n && message.value >= 0n)
        assert.deepEqual([domain.chainId, domain.verifyingContract, message.to], [84_532, usdc, payTo])
        assert.ok(message.validBefore - message.validAfter <= 720n)
      }
    }),
    { numRuns: 500 },
  )
  assert.ok(signed > 10, `only ${signed} were signed`)
})
