import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { encode, makePayer } from '../../../test/fixtures/payments/payer.ts'
import { ConfigFaults, readConfig } from '../../platform/ops/config.ts'
import { checkSignature, networkOf, parsePayment, paymentTermsFault, usdcMicroOf } from '../index.ts'
import { termChecks } from './check.ts'
import { transferData } from './token.ts'

const environment = { DATABASE_URL: 'postgres://nowhere/x' }
const network = networkOf(readConfig(environment))
const entry = {
  scheme: 'exact',
  network: network.name,
  asset: network.asset,
  payTo: network.payTo,
  amount: '10000',
  extra: { name: network.assetName, version: network.assetVersion },
}
const at = new Date('2026-05-01T12:00:00Z')
const atSeconds = at.getTime() / 1_000
const terms = { network, amountUsdcMicro: 10_000n, at }
const faultOf = async (payment: Parameters<typeof checkSignature>[0]) =>
  paymentTermsFault(payment, terms) ??
  (await checkSignature(payment, { network, acceptsContractWallets: false })).fault
const payer = makePayer()
const authorization = payer.authorize(entry, atSeconds)
const signature = await payer.sign(entry, authorization)
const version1 = {
  x402Version: 1,
  scheme: 'exact',
  network: 'base-sepolia',
  payload: { signature, authorization },
}
const version2 = {
  x402Version: 2,
  payload: { signature, authorization },
  accepted: { ...entry, network: network.caip2, maxTimeoutSeconds: 120 },
  resource: { url: 'https://example.com' },
}
const parsed = (value: unknown) => {
  const payment = parsePayment(encode(value))
  assert.ok(payment)
  return payment
}

test('a version 1 and a version 2 payload of one authorization become the same payment, and both are good', async () => {
  const one = parsed(version1)
  const two = parsed(version2)
  assert.deepEqual(one.authorization, two.authorization)
  assert.equal(one.signature, two.signature)
  assert.equal(await faultOf(one), undefined)
  assert.equal(await faultOf(two), undefined)
})

test('times as JSON numbers, the url-safe alphabet and missing padding are read too', async () => {
  const numbers = {
    ...version1,
    payload: { signature, authorization: { ...authorization, validBefore: atSeconds + 120 } },
  }
  assert.equal(await faultOf(parsed(numbers)), undefined)
  const text = Buffer.from(JSON.stringify(version1)).toString('base64url')
  assert.ok(parsePayment(text))
})

const changed: readonly { name: string; payment: () => unknown; reason: RegExp }[] = [
  { name: 'another scheme', payment: () => ({ ...version1, scheme: 'upto' }), reason: /exact/ },
  { name: 'another network', payment: () => ({ ...version1, network: 'base' }), reason: /another network/ },
  {
    name: 'another asset',
    payment: () => ({ ...version2, accepted: { ...version2.accepted, asset: payer.account.address } }),
    reason: /another asset/,
  },
  {
    name: 'another recipient',
    payment: () => ({
      ...version1,
      payload: { signature, authorization: { ...authorization, to: payer.account.address } },
    }),
    reason: /another address/,
  },
  {
    name: 'one millionth too little',
    payment: () => ({
      ...version1,
      payload: { signature, authorization: { ...authorization, value: '9999' } },
    }),
    reason: /too small/,
  },
  {
    name: 'a raised amount under the old signature',
    payment: () => ({
      ...version1,
      payload: { signature, authorization: { ...authorization, value: '10001' } },
    }),
    reason: /not by the payer/,
  },
  {
    name: 'an authorization of the future',
    payment: () => ({
      ...version1,
      payload: { signature, authorization: { ...authorization, validAfter: String(atSeconds + 1) } },
    }),
    reason: /not valid yet/,
  },
  {
    name: 'one that ends before it could settle',
    payment: () => ({
      ...version1,
      payload: { signature, authorization: { ...authorization, validBefore: String(atSeconds + 19) } },
    }),
    reason: /has ended or ends/,
  },
  {
    name: 'one that would keep its settlement in doubt for days',
    payment: () => ({
      ...version1,
      payload: { signature, authorization: { ...authorization, validBefore: String(atSeconds + 86_400) } },
    }),
    reason: /too long/,
  },
  {
    name: 'a signature of nobody',
    payment: () => ({ ...version1, payload: { signature: `0x${'00'.repeat(65)}`, authorization } }),
    reason: /not by the payer/,
  },
  {
    name: 'a contract wallet with the suffix of ERC-6492',
    payment: () => ({
      ...version1,
      payload: { signature: `${signature}${'6492'.repeat(16)}`, authorization },
    }),
    reason: /ERC-6492/,
  },
]
for (const { name, payment, reason } of changed) {
  test(`refused with a reason: ${name}`, async () => {
    assert.match((await faultOf(parsed(payment()))) ?? '', reason)
  })
}

type Payment = Parameters<typeof checkSignature>[0]
const elsewhere = payer.account.address
const authorizationSince = ({ authorization: one }: Payment, change: Partial<Payment['authorization']>) => ({
  authorization: { ...one, ...change },
})
const acceptedSince = ({ accepted }: Payment, change: Partial<NonNullable<Payment['accepted']>>) => ({
  accepted: { amount: 1n, asset: elsewhere, payTo: elsewhere, ...accepted, ...change },
})
/** For each term the message about it, and the payment with that term met. */
const repairs: readonly (readonly [string, RegExp, (payment: Payment) => Partial<Payment>])[] = [
  ['scheme', /exact/, () => ({ scheme: 'exact' })],
  ['network', /another network/, () => ({ network: network.caip2 })],
  ['asset', /another asset/, (payment) => acceptedSince(payment, { asset: network.asset })],
  [
    'recipient',
    /another address/,
    (payment) => ({
      ...acceptedSince(payment, { payTo: network.payTo }),
      ...authorizationSince(payment, { to: network.payTo as `0x${string}` }),
    }),
  ],
  ['amount', /too small/, (payment) => acceptedSince(payment, { amount: 10_000n })],
  [
    'amount_limit',
    /larger than this service accepts/,
    (payment) => authorizationSince(payment, { value: 10_000n }),
  ],
  ['start', /not valid yet/, (payment) => authorizationSince(payment, { validAfter: 0n })],
  ['end', /has ended/, (payment) => authorizationSince(payment, { validBefore: BigInt(atSeconds + 86_400) })],
  [
    'validity',
    /too long/,
    (payment) => authorizationSince(payment, { validBefore: BigInt(atSeconds + 120) }),
  ],
]

test('the terms of a payment are checked in the order of their list', () => {
  const good = parsed(version2)
  let payment: Payment = {
    ...good,
    scheme: 'upto',
    network: 'base',
    ...acceptedSince(good, { amount: 1n, asset: elsewhere, payTo: elsewhere }),
    ...authorizationSince(good, {
      to: elsewhere,
      // More than a ledger account holds.
      value: 2n ** 53n,
      validAfter: BigInt(atSeconds + 60),
      validBefore: BigInt(atSeconds - 60),
    }),
  }
  for (const [name, message, repair] of repairs) {
    assert.match(paymentTermsFault(payment, terms) ?? '', message, name)
    payment = { ...payment, ...repair(payment) }
  }
  assert.equal(paymentTermsFault(payment, terms), undefined)
  assert.deepEqual(
    repairs.map(([name]) => name),
    termChecks.map(([name]) => name),
  )
})

test('the mirrored form of a good signature is refused, as tokens do', async () => {
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
  const s = (order - BigInt(`0x${signature.slice(66, 130)}`)).toString(16).padStart(64, '0')
  const mirrored = `${signature.slice(0, 66)}${s}${signature.endsWith('1b') ? '1c' : '1b'}`
  const payment = parsed({ ...version1, payload: { signature: mirrored, authorization } })
  assert.match((await faultOf(payment)) ?? '', /low-s/)
})

test('a recovery bit of 0 or 1 is good, and the token is called with 27 or 28', async () => {
  const bit = signature.endsWith('1b') ? '00' : '01'
  const payment = parsed({
    ...version1,
    payload: { signature: `${signature.slice(0, -2)}${bit}`, authorization },
  })
  assert.equal(await faultOf(payment), undefined)
  const expected = parsed(version1)
  assert.equal(
    transferData(payment.authorization, payment.signature, 'key'),
    transferData(expected.authorization, expected.signature, 'key'),
  )
})

test('a signature for another chain or token is not by the payer', async () => {
  const elsewhere = await payer.sign(entry, authorization, 8_453)
  const payment = parsed({ ...version1, payload: { signature: elsewhere, authorization } })
  assert.match((await faultOf(payment)) ?? '', /not by the payer/)
})

test('no text, and no JSON in base64, makes the parser throw', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ maxLength: 300 }), fc.base64String({ maxLength: 300 })), (text) => {
      assert.equal(parsePayment(text), undefined)
    }),
    { numRuns: 500 },
  )
  fc.assert(
    fc.property(fc.jsonValue(), (inside) => {
      parsePayment(encode({ ...version1, payload: inside }))
      parsePayment(encode({ ...version2, accepted: inside }))
      assert.equal(parsePayment(encode(inside)), undefined)
    }),
    { numRuns: 500 },
  )
})

test('real money needs a real recipient: base, or a chain, without X402_PAY_TO does not start', () => {
  for (const unsafe of [{ X402_NETWORK: 'base' }, { X402_CHAIN_RPC: 'http://127.0.0.1:8545' }]) {
    assert.throws(
      () => readConfig({ ...environment, ...unsafe }),
      (error) => error instanceof ConfigFaults && error.faults.some((fault) => /X402_PAY_TO/.test(fault)),
    )
    assert.ok(readConfig({ ...environment, ...unsafe, X402_PAY_TO: payer.account.address }))
  }
})

test('cents become millionths of the token exactly', () => {
  assert.equal(usdcMicroOf(1n), 10_000n)
  assert.equal(usdcMicroOf(123_456_789_012_345n), 1_234_567_890_123_450_000n)
})
