import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { openChain } from '../../dev/chain.ts'
import { readConfig } from '../../src/platform/ops/config.ts'
import { startHarness } from '../fixtures/harness.ts'

const folder = mkdtempSync(join(tmpdir(), 'pohf-dev-chain-'))
after(() => rmSync(folder, { recursive: true, force: true }))
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
