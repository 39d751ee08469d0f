import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { openChain } from '../../dev/chain.ts'
import { readConfig } from '../../src/platform/ops/config.ts'
import { startHarness } from '../fixtures/harness.ts'
import { decode, encode, makePayer } from '../fixtures/payments/payer.ts'
import { pollUntil } from '../fixtures/polling.ts'

const makeFolder = (): string => {
  const made = mkdtempSync(join(tmpdir(), 'pohf-dev-chain-'))
  after(() => rmSync(made, { recursive: true, force: true }))
  return made
}
const folder = makeFolder()
const harness = await startHarness()
const serverUrl = await harness.app.api.listen({ host: '127.0.0.1', port: 0 })
const environment = { DATABASE_URL: 'postgres://nowhere/x', DATA_DIR: folder }

test('the chain of npm run dev fits the settings, knows the server’s key, and is the same at the next start', async (t) => {
  const said: string[] = []
  for (const start of ['first', 'second']) {
    const chain = await openChain(readConfig(environment))
    if (!chain) return t.skip('npm has no anvil for this system')
    try {
      const config = readConfig({ ...environment, ...chain.settings })
      assert.equal(config.EVM_RPC_URLS.get(84_532), config.X402_CHAIN_RPC)
      const keysFile = chain.settings['X402_GAS_KEYS_FILE'] ?? ''
      assert.equal(statSync(keysFile).mode & 0o777, 0o600)
      assert.match(readFileSync(keysFile, 'utf8'), /^(0x[0-9a-f]{64}\n){4}$/)
      said.push((await chain.registerKeys(serverUrl)).replace(/127\.0\.0\.1:\d+/, 'here'))
      // A key that it knows already is no fault.
      await chain.registerKeys(serverUrl)
    } finally {
      await chain.stop()
    }
    assert.ok(existsSync(join(folder, 'chain-state.json')), start)
  }
  assert.match(said[0] ?? '', /HumanRegistry {2}0x[0-9a-f]{40}$/)
  assert.equal(said[1], said[0], 'the same registry')
})

test('after an idle hour the time of the chain has gone on, and the buyer of npm run dev can pay', async (t) => {
  const chain = await openChain(readConfig({ ...environment, DATA_DIR: makeFolder() }), { idleBlockTime: 1 })
  if (!chain) return t.skip('npm has no anvil for this system')
  try {
    const rpc = async (method: string, params: readonly unknown[]) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
      const headers = { 'content-type': 'application/json' }
      const response = await fetch(chain.variables.POHF_CHAIN_URL, { method: 'POST', headers, body })
      return ((await response.json()) as { result: unknown }).result
    }
    const chainTime = async () =>
      Number(((await rpc('eth_getBlockByNumber', ['latest', false])) as { timestamp: string }).timestamp)
    const server = await startHarness(chain.settings)
    const before = await chainTime()
    await rpc('evm_increaseTime', [3_600])
    await server.advance(3_600_000)
    // Nobody sends a transaction.
    await pollUntil('a block of the idle chain', async () => (await chainTime()) >= before + 3_600)
    const payer = makePayer(chain.variables.PAYER_PRIVATE_KEY as `0x${string}`)
    const path = '/api/agent/tasks/wf_test_ok/buy'
    const accepted = decode((await server.call('GET', path)).headers['payment-required']).accepts[0]
    const seconds = Math.floor(server.ctx.clock.now().getTime() / 1_000)
    const authorization = payer.authorize(accepted, seconds)
    const signature = await payer.sign(accepted, authorization)
    const payment = { x402Version: 2, payload: { signature, authorization }, accepted, extensions: {} }
    const bought = await server.call('GET', path, { headers: { 'payment-signature': encode(payment) } })
    assert.equal(bought.status, 200, bought.text)
  } finally {
    await chain.stop()
  }
})
