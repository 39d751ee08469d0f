import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { serverRoot } from '../../test/architecture/import-rules.ts'
import { startHarness } from '../../test/fixtures/harness.ts'
import { attemptsOf, publishEvent, registerIdleAgent, subscribe } from '../../test/fixtures/webhooks.ts'

/** Runs the receiver of docs/guides/webhooks.md as it stands, on a free port, and says where it listens. */
const startExample = async (environment: Record<string, string>): Promise<string> => {
  const page = readFileSync(join(serverRoot, '../../docs/guides/webhooks.md'), 'utf8')
  const example = /```js\n([\s\S]*?)```/.exec(page)?.[1] ?? ''
  assert.match(example, /\.listen\(4000\)/)
  const code = example.replace(
    '.listen(4000)',
    ".listen(0, '127.0.0.1', function () { console.log(this.address().port) })",
  )
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code], {
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  after(() => child.kill())
  const [port] = await once(child.stdout, 'data')
  return `http://127.0.0.1:${String(port).trim()}/`
}

test('the receiver of the documentation takes a genuine delivery and refuses any other', async () => {
  const harness = await startHarness()
  const agent = await registerIdleAgent(harness)
  const { id, signingSecret } = await subscribe(harness, agent, 'http://127.0.0.1:9/', ['key.revoked'])
  const url = await startExample({ POHF_WEBHOOK_SECRET: signingSecret })
  await harness.owner.query('update webhook_endpoints set url = $1', [url])
  const { id: forger } = await subscribe(harness, agent, url, ['key.revoked'])
  await publishEvent(harness, agent)
  await harness.work()
  assert.equal((await attemptsOf(harness, id))[0]?.status, 204)
  assert.equal((await attemptsOf(harness, forger))[0]?.status, 401)
  // The right signature, but from an hour away by the receiver's clock.
  await harness.advance(3_600_000)
  await publishEvent(harness, agent)
  await harness.work()
  assert.deepEqual(
    (await attemptsOf(harness, id)).map(({ status }) => status),
    [204, 401],
  )
})
