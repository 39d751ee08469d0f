import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { startPurchaseServer } from '../../sdk/test/purchase-server.ts'

const { harness, baseUrl, withChain, fund, usedNonces } = await startPurchaseServer()
const folder = mkdtempSync(join(tmpdir(), 'pohf-buy-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const main = fileURLToPath(new URL('../src/main.ts', import.meta.url))

const run = async (parameters: readonly string[], privateKey?: string, command = 'buy') => {
  const { PAYER_PRIVATE_KEY: _payer, POHF_KEY: _agent, ...rest } = process.env
  const env = { ...rest, ...(privateKey === undefined ? {} : { PAYER_PRIVATE_KEY: privateKey }) }
  const child = spawn(process.execPath, [main, command, '--url', baseUrl, ...parameters], { env })
  const ended = once(child, 'close')
  const [out, told] = await Promise.all([text(child.stdout), text(child.stderr)])
  const [code] = (await ended) as [number]
  return { code, out, told }
}
const newWallet = async () => {
  const privateKey = generatePrivateKey()
  const { address } = privateKeyToAccount(privateKey)
  await fund(address)
  return { privateKey, address }
}

test(
  'pohf buy pays once, shows every step, and prints transaction, credential and answer',
  withChain,
  async () => {
    const { privateKey, address } = await newWallet()
    const { code, out, told } = await run(['wf_test_ok'], privateKey)
    assert.equal(code, 0, told)
    for (const words of [/costs 0\.01 USD on base-sepolia/, /signed, good until/, /paid by transaction 0x/])
      assert.match(told, words)
    assert.match(out, /Bought: wf_test_ok, a test/)
    assert.match(out, /transaction {2}0x[0-9a-f]{64} on/)
    assert.match(out.trimEnd().split('\n').at(-1) ?? '', /^ey[\w-]+\.[\w-]+\.[\w-]+$/)
    assert.equal((await usedNonces(address)).length, 1)
    assert.ok(!`${out}${told}`.includes(privateKey.slice(2)), 'the key was shown')

    const [, purchaseId = ''] = /--resume '(.+)'/.exec(told) ?? []
    const resumed = await run(['--resume', purchaseId, '--json'])
    assert.equal(resumed.code, 0, resumed.told)
    assert.ok(out.includes((JSON.parse(resumed.out) as { pohf_jwt: string }).pohf_jwt))
    assert.equal((await usedNonces(address)).length, 1)
  },
)

test(
  'pohf ask --pay x402 that is repeated with its --idempotency-key pays once, and shows the paid question',
  withChain,
  async () => {
    const { privateKey, address } = await newWallet()
    const { apiKey } = await harness.register('test')
    const asked = ['Is tea a soup?', '--key', apiKey, '--budget', '1', '--pay', 'x402', '--json']
    const shown: unknown[] = []
    for (let call = 1; call <= 2; call++) {
      const { code, out, told } = await run([...asked, '--idempotency-key', 'tea'], privateKey, 'ask')
      assert.equal(code, 0, `call ${call}: ${told}`)
      const { questionId, status } = JSON.parse(out) as { questionId: string; status: string }
      assert.equal(status, 'queued')
      shown.push(questionId)
    }
    assert.equal(new Set(shown).size, 1)
    assert.equal((await usedNonces(address)).length, 1)
  },
)

test('the key of a wallet may come from a file, and --json is one object', withChain, async () => {
  const { privateKey } = await newWallet()
  const file = join(folder, 'wallet')
  writeFileSync(file, `${privateKey.slice(2)}\n`, { mode: 0o600 })
  const { code, out } = await run(['wf_test_ok', '--key-file', file, '--json'])
  assert.equal(code, 0)
  const bought = JSON.parse(out) as { ok: boolean; claims: { kind: string } }
  assert.deepEqual([bought.ok, bought.claims.kind], [true, 'purchase'])
})

test('a refused purchase ends with exit code 1 and says that nothing was charged', async () => {
  const privateKey = generatePrivateKey()
  for (const [parameters, error] of [
    [['wf_test_ok', '--max-usd', '0.001'], 'price_above_cap'],
    [['wf_test_ok', '--network', 'base'], 'terms_refused'],
    [['wf_none'], 'out_of_stock'],
    [['wf_test_settle_fail', '--wait', '1'], undefined],
  ] as const) {
    const { code, out, told } = await run([...parameters, '--json'], privateKey)
    assert.equal(code, 1, told)
    const answer = JSON.parse(out) as { ok: boolean; error: string; charged: string }
    assert.deepEqual([answer.ok, answer.charged], [false, 'no'])
    if (error !== undefined) assert.equal(answer.error, error)
    assert.match(told, /Nothing was charged\./)
  }
})

test('a wrong call ends with exit code 2 and says what is missing', async () => {
  for (const [parameters, words] of [
    [['wf_test_ok'], /PAYER_PRIVATE_KEY/],
    [['wf_test_ok', '--key-file', join(folder, 'none')], /There is no file/],
    [['wf_test_ok', '--max-usd', 'much'], /--max-usd must be a number/],
    [['wf_test_ok', '--network', 'solana'], /--network must be one of/],
    [[], /Say what to buy/],
  ] as const) {
    const { code, told } = await run(parameters)
    assert.equal(code, 2, told)
    assert.match(told, words)
  }
  const unread = await run(['wf_test_ok'], '0x1234')
  assert.equal(unread.code, 2)
  assert.ok(!unread.told.includes('0x1234'), 'a key, even a broken one, is not repeated')
})
