import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Address } from 'viem'
import { openRegistry, startChain } from '@pohf/chain'

const program = fileURLToPath(new URL('../src/deploy.ts', import.meta.url))
const deploy = (environment: Record<string, string>) =>
  spawnSync(process.execPath, [program], {
    encoding: 'utf8',
    timeout: 60_000,
    env: { ...process.env, ...environment },
  })

test('the command puts a registry on a chain, and it belongs to whom it was told', async (t) => {
  const chain = await startChain()
  if (!chain) return t.skip('npm has no anvil for this system')
  try {
    const [payer] = chain.gasAccounts
    const settings = { RPC: chain.url, OWNER: chain.payTo.address, DEPLOYER_KEY: payer.privateKey }
    const { status, stdout, stderr } = deploy(settings)
    assert.equal(status, 0, stderr)
    const registry = openRegistry(chain, stdout.trim() as Address)
    assert.equal(await registry.owner(), chain.payTo.address)
    assert.equal(await registry.keyDelay(), 2 * 86_400)
    assert.equal(deploy({ ...settings, OWNER: '0x1' }).status, 2)
    assert.equal(deploy({ ...settings, KEY_DELAY_DAYS: 'two' }).status, 2)
  } finally {
    await chain.stop()
  }
})
