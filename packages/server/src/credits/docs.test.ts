import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { serverRoot } from '../../test/architecture/import-rules.ts'
import { startCardHarness } from '../../test/fixtures/payments/card.ts'

const card = await startCardHarness()

test('the examples of docs/guides/credits.md run as they stand and buy a pack', async () => {
  const page = readFileSync(join(serverRoot, '../../docs/guides/credits.md'), 'utf8')
  const blocks = [...page.matchAll(/```sh\n([\s\S]*?)```/g)].map((match) => match[1] ?? '')
  assert.ok(blocks.length >= 5)
  const script = blocks.join('\n').replace('http://127.0.0.1:3000', card.baseUrl)
  const child = spawn('bash', ['-euo', 'pipefail', '-c', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  let out = ''
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()))
  assert.equal(await new Promise((resolve) => child.once('close', resolve)), 0)
  assert.match(out, /\{"balance":0,"lifetimePurchased":0/)
  assert.ok(out.includes(`${card.simulator.url}/pay/cs_test_`))
  assert.match(out, /\{"balance":100,"lifetimePurchased":100,/)
})

test('with a provider the manifest and the page /buy say that cards are taken', async () => {
  const { json } = await card.harness.call('GET', '/api/agents/discovery')
  assert.equal(json.settlement.human_in_the_loop.configured, true)
  const { text } = await card.harness.call('GET', '/buy')
  assert.doesNotMatch(text, /No card provider/)
})
