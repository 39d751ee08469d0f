import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { freePort } from '../../dev/cluster.ts'
import { serverRoot } from '../../test/architecture/import-rules.ts'
import { startHarness } from '../../test/fixtures/harness.ts'

test('the examples of docs/guides/bind.md run as they stand and bind', async () => {
  const port = await freePort()
  const baseUrl = `http://127.0.0.1:${port}`
  const harness = await startHarness({ PORT: String(port), BASE_URL: baseUrl })
  await harness.app.api.listen({ host: '127.0.0.1', port })
  const page = readFileSync(join(serverRoot, '../../docs/guides/bind.md'), 'utf8')
  const blocks = [...page.matchAll(/```sh\n([\s\S]*?)```/g)].map((match) => match[1] ?? '')
  assert.equal(blocks.length, 3)
  const script = blocks.join('\n').replace('http://127.0.0.1:3000', baseUrl)
  const child = spawn('bash', ['-euo', 'pipefail', '-c', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  let out = ''
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()))
  assert.equal(await new Promise((resolve) => child.once('close', resolve)), 0)
  const bindings = [...out.matchAll(/"binding":(\{[^}]*\})/g)].map(
    (match) => JSON.parse(match[1] ?? '') as object,
  )
  assert.deepEqual(bindings.slice(0, 2), [
    { paymentRef: 'card:stripe:pi_3MtwBwLkdIwHu7ix', rail: 'card', assurance: 'test' },
    { paymentRef: 'test:rehearsal', rail: 'other', assurance: 'test' },
  ])
  assert.equal(bindings.length, 3)
})
