import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { rails } from '@pohf/protocol'
import { formatAmount } from './payment-chain.ts'
import { parsePaymentRef } from './payment-ref.ts'

const hash = `0x${'0123456789abcdef'.repeat(4)}`
const transfer = (chainId: number, log?: number) => ({
  kind: 'transfer',
  chainId,
  hash,
  ...(log === undefined ? {} : { log }),
})
const genesis = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp'

const good: readonly (readonly [text: string, rail: string, target: object, ref?: string])[] = [
  [`usdc:eip155:8453/tx:${hash}`, 'usdc', transfer(8453)],
  [`usdc:eip155:8453/tx:${hash}/log:0`, 'usdc', transfer(8453, 0)],
  [`usdc:eip155:1/tx:${hash}/log:417`, 'usdc', transfer(1, 417)],
  [`ousd:eip155:8453/tx:${hash}`, 'ousd', transfer(8453)],
  [`ousd:solana:${genesis}/tx:${'5K'.repeat(44)}`, 'ousd', { kind: 'none' }],
  ['x402:pur_aa01h2xcejqtf2', 'x402', { kind: 'own', id: 'pur_aa01h2xcejqtf2' }],
  [`x402:eip155:84532/tx:${hash}`, 'x402', transfer(84532)],
  ['card:stripe:pi_3MtwBwLkdIwHu7ix', 'card', { kind: 'card', id: 'pi_3MtwBwLkdIwHu7ix' }],
  ['card:stripe:cs_test_a11YYufW', 'card', { kind: 'card', id: 'cs_test_a11YYufW' }],
  ['card:stripe:ch_3MmlLrLkdI', 'card', { kind: 'card', id: 'ch_3MmlLrLkdI' }],
  ['card:stripe:py_1MmlLrLkdI', 'card', { kind: 'card', id: 'py_1MmlLrLkdI' }],
  ['card:ord_aa01h2xcejqtf2/12', 'card', { kind: 'own', id: 'ord_aa01h2xcejqtf2/12' }],
  ['card:ord_aa01h2xcejqtf2', 'card', { kind: 'own', id: 'ord_aa01h2xcejqtf2' }],
  [`mpp:tempo:eip155:4217/tx:${hash}`, 'mpp', transfer(4217)],
  [`mpp:evm:eip155:8453/tx:${hash}/log:3`, 'mpp', transfer(8453, 3)],
  ['mpp:stripe:pi_3MtwBwLkdIwHu7ix', 'mpp', { kind: 'card', id: 'pi_3MtwBwLkdIwHu7ix' }],
  ['mpp:lightning:receipt-77', 'mpp', { kind: 'none' }],
  ['agentpay:visa:4815162342', 'agentpay', { kind: 'none' }],
  ['agentpay:mastercard:MCC-0001', 'agentpay', { kind: 'none' }],
  // Written otherwise, the same payment.
  [
    'x402:pur_aa01h2xcejqtf2.s3cret',
    'x402',
    { kind: 'own', id: 'pur_aa01h2xcejqtf2' },
    'x402:pur_aa01h2xcejqtf2',
  ],
  [
    'pi_3MtwBwLkdIwHu7ix',
    'card',
    { kind: 'card', id: 'pi_3MtwBwLkdIwHu7ix' },
    'card:stripe:pi_3MtwBwLkdIwHu7ix',
  ],
  ['cs_live_a1b2c3', 'card', { kind: 'card', id: 'cs_live_a1b2c3' }, 'card:stripe:cs_live_a1b2c3'],
  [
    `USDC:EIP155:8453/TX:${hash.toUpperCase()}/LOG:7`,
    'usdc',
    transfer(8453, 7),
    `usdc:eip155:8453/tx:${hash}/log:7`,
  ],
  ['Card:Stripe:pi_AbCd', 'card', { kind: 'card', id: 'pi_AbCd' }, 'card:stripe:pi_AbCd'],
]
test('every form of the grammar is parsed, and one payment has one reference', () => {
  for (const [text, rail, target, ref = text] of good)
    assert.deepEqual(parsePaymentRef(text), { ref, rail, target }, text)
})

const bad = [
  'just some text',
  '',
  ':',
  `usdc:eip155:8453/tx:${hash.slice(0, -1)}`,
  `usdc:eip155:8453/tx:${hash}0`,
  `usdc:eip155:08453/tx:${hash}`,
  `usdc:eip155:0/tx:${hash}`,
  `usdc:eip155:8453/tx:${hash}/log:01`,
  `usdc:eip155:8453/tx:${hash}/log:-1`,
  `usdc:eip155:8453/tx:${hash}\n`,
  `usdc: eip155:8453/tx:${hash}`,
  `usdc:solana:${genesis}/tx:${'5K'.repeat(44)}`,
  `usdc:eip155:9999999999999999/tx:${hash}`,
  'card:stripe:sub_12345678',
  'card:stripe:pi_',
  'card:paypal:pi_12345678',
  'ch_3MmlLrLkdI',
  'x402:ord_aa01h2xcejqtf2',
  'agentpay:diners:4815162342',
  'card:ord_aa01h2xcejqtf2/0',
  'agentpay:visa:123',
  'mpp:x',
  'constructor:a:b',
  '__proto__:x',
]
test('any other text is kept verbatim, on rail other, and never looked up', () => {
  for (const text of bad)
    assert.deepEqual(parsePaymentRef(text), { ref: text, rail: 'other', target: { kind: 'none' } }, text)
})

test('no text throws, parsing is idempotent, and a known rail is the prefix', () => {
  const near = fc
    .tuple(fc.constantFrom(...good.map(([text]) => text), ...bad), fc.nat(), fc.string({ maxLength: 3 }))
    .map(([text, at, put]) => {
      const place = at % (text.length + 1)
      return `${text.slice(0, place)}${put}${text.slice(place + (at % 3))}`
    })
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary', maxLength: 256 }), near), (text) => {
      const first = parsePaymentRef(text)
      assert.ok((rails as readonly string[]).includes(first.rail))
      assert.deepEqual(parsePaymentRef(first.ref), first)
      if (first.rail === 'other') assert.equal(first.ref, text)
      else assert.ok(first.ref.startsWith(`${first.rail}:`))
      assert.ok(first.ref.length <= text.length + 'card:stripe:'.length)
    }),
    { numRuns: 5_000 },
  )
})

const write = (one: { chainId: number; digits: string; log: number | undefined }, upper: boolean) => {
  const text = `usdc:eip155:${one.chainId}/tx:0x${one.digits}${one.log === undefined ? '' : `/log:${one.log}`}`
  return upper ? text.toUpperCase() : text
}
test('two spellings of one transaction give one reference, two transactions never do', () => {
  const digits = fc.string({
    unit: fc.constantFrom(...'0123456789abcdef'.split('')),
    minLength: 64,
    maxLength: 64,
  })
  const chainId = fc.integer({ min: 1, max: 999_999_999 })
  const log = fc.option(fc.nat(999_999), { nil: undefined })
  const written = fc.record({ chainId, digits, log })
  fc.assert(
    fc.property(written, written, fc.boolean(), (a, b, upper) => {
      assert.equal(parsePaymentRef(write(a, upper)).ref, write(a, false))
      const isSame = a.chainId === b.chainId && a.digits === b.digits && a.log === b.log
      assert.equal(parsePaymentRef(write(a, upper)).ref === parsePaymentRef(write(b, !upper)).ref, isSame)
    }),
  )
})

test('amounts are formatted exactly, without rounding', () => {
  assert.equal(formatAmount(1n, 6), '0.000001')
  assert.equal(formatAmount(2_500_000n, 6), '2.5')
  assert.equal(formatAmount(7n, 0), '7')
  assert.equal(formatAmount(200n, 2), '2')
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: 2n ** 256n - 1n }), fc.nat(36), (amount, decimals) => {
      const [whole = '', fraction = ''] = formatAmount(amount, decimals).split('.')
      assert.equal(BigInt(`${whole}${fraction.padEnd(decimals, '0')}`), amount)
    }),
  )
})
