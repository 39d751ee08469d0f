import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { verifyWebhook } from '@pohf/verify'
import { freePort } from '../../server/dev/cluster.ts'
import { startHarness } from '../../server/test/fixtures/harness.ts'
import { inheritedEnvironment } from '../../server/test/fixtures/processes/child-processes.ts'
import { respondWith, startReceiver } from '../../server/test/fixtures/webhook-receiver.ts'

const harness = await startHarness()
const url = await harness.app.api.listen({ host: '127.0.0.1', port: 0 })
const { apiKey } = await harness.register('test')
const live = await harness.register('live')
const folder = mkdtempSync(join(tmpdir(), 'pohf-cli-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url))
const pohf = async (parameters: readonly string[], environment: Record<string, string> = {}) => {
  const child = spawn(process.execPath, [main, ...parameters], {
    env: { ...inheritedEnvironment, POHF_KEY: apiKey, ...environment },
  })
  child.stdin.end()
  const [out, err, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.once('exit', resolve)),
  ])
  return { out, err, code }
}
const hooks = (...parameters: string[]) => pohf(['webhooks', ...parameters, '--url', url])

test('an endpoint is added, tested, looked at, rotated, recovered and deleted from the command line', async () => {
  assert.match((await hooks('list')).out, /No endpoint yet\. Add one: pohf webhooks add/)
  const receiver = await startReceiver(respondWith(404))
  const added = await hooks('add', receiver.url, '--events', '*')
  assert.equal(added.code, 0, added.err)
  const [id = '', secret = ''] = added.out.split('\n')
  assert.match(secret, /^whsec_/)
  assert.match((await hooks('deliveries', id)).out, /No delivery yet/)
  assert.equal((await hooks('test', id)).code, 0)
  await harness.runJobs()
  const log = await hooks('deliveries', id, '--json')
  const { deliveries } = JSON.parse(log.out) as {
    deliveries: { id: string; eventId: string; type: string }[]
  }
  const tested = deliveries.find(({ type }) => type === 'endpoint.test')
  assert.ok(tested)
  assert.match((await hooks('deliveries', id)).out, /404 {2}\d+ ms {2}The receiver has nothing at this path/)
  receiver.respond = respondWith(204)
  assert.equal((await hooks('replay', tested.id)).code, 0)
  await harness.runJobs()
  assert.equal(receiver.eventIds().filter((eventId) => eventId === tested.eventId).length, 2)
  assert.match((await hooks('list')).out, new RegExp(`${id} {2}healthy {2}${receiver.url}`))
  const rotated = await hooks('rotate', id)
  assert.match(rotated.out, /^whsec_\S+\n.*\nThe old secret signs too until 20/)
  assert.match((await hooks('disable', id)).out, /^Off/)
  const recovered = await hooks('recover', id, '--since', new Date(Date.now() - 60_000).toISOString())
  assert.match(recovered.out, /^On, and everything since/)
  assert.equal((await hooks('delete', id)).code, 0)
  const gone = await hooks('test', id)
  assert.equal(gone.code, 1)
  assert.match(gone.err, /^You have no webhook endpoint with this id\. \(not_found\)\nFix: /)
})

test('each failure names its cause: no key, a wrong address, a URL that is refused', async () => {
  const keyless = await pohf(['webhooks', 'list', '--url', url], { POHF_KEY: '' })
  assert.match(keyless.err, /--key or POHF_KEY/)
  const away = await pohf(['webhooks', 'list', '--url', `http://127.0.0.1:${await freePort()}`])
  assert.match(away.err, /does not answer \(ECONNREFUSED\)/)
  const refused = await hooks('add', 'http://10.0.0.1/', '--events', '*')
  assert.match(refused.err, /validation_failed\)\n {2}body\.url: must not name an address that is not public/)
  assert.deepEqual([keyless.code, away.code, refused.code], [2, 5, 1])
})

test('listen forwards events, signed with the given secret, and trigger makes an event', async () => {
  const receiver = await startReceiver()
  const secret = `whsec_${Buffer.alloc(32, 5).toString('base64')}`
  const since = new Date().toISOString()
  const triggered = await pohf(['trigger', 'credential.issued', '--url', url])
  assert.match(triggered.out, /^credential\.issued happened as evt_/)
  await pohf(['trigger', 'key.revoked', '--url', url])
  await harness.advance(3_000)
  const from = ['--since', since, '--events', 'credential.issued', '--once']
  const listened = await pohf(
    ['listen', '--url', url, '--forward-to', receiver.url, '--secret', secret].concat(from),
  )
  assert.equal(listened.code, 0, listened.err)
  assert.match(listened.out, /credential\.issued +evt_\S+ {2}→ {2}204/)
  assert.equal(receiver.received.length, 1)
  const [received] = receiver.received
  assert.ok(received && triggered.out.includes(String(received.headers['webhook-id'])))
  const { headers, body } = received
  assert.equal((await verifyWebhook({ secret, headers, body })).ok, true)
  assert.equal(headers['x-service-signature'], headers['webhook-signature'])

  const unknown = await pohf(['trigger', 'no.such', '--url', url])
  assert.match(unknown.err, /validation_failed/)
  const forbidden = await pohf(['listen', '--url', url, '--forward-to', receiver.url], {
    POHF_KEY: live.apiKey,
  })
  assert.match(forbidden.err, /listen is for test keys/)
})

test('a saved delivery is verified offline, and each cause of failure has its name', async () => {
  const receiver = await startReceiver()
  const added = await hooks('add', receiver.url, '--events', 'endpoint.test', '--json')
  const { id, signingSecret } = JSON.parse(added.out) as { id: string; signingSecret: string }
  await hooks('test', id)
  await harness.runJobs()
  const [received] = receiver.received
  assert.ok(received)
  const file = (name: string, content: string) => {
    writeFileSync(join(folder, name), content)
    return join(folder, name)
  }
  const lines = Object.entries(received.headers).map(([name, value]) => `< ${name}: ${String(value)}`)
  const headers = file('headers.txt', `${lines.join('\r\n')}\r\n`)
  const body = file('body.json', received.body)
  const at = harness.ctx.clock.now().toISOString()
  const verify = (...more: string[]) =>
    pohf([
      'webhooks',
      'verify',
      '--secret',
      signingSecret,
      '--headers',
      headers,
      '--body',
      body,
      '--at',
      at,
      ...more,
    ])
  const genuine = await verify()
  assert.match(genuine.out, /^✓ genuine: evt_/)
  assert.equal(genuine.code, 0)
  const parsed = file('parsed.json', JSON.stringify(JSON.parse(received.body), null, 2))
  const changed = file('changed.json', received.body.replace('endpoint.test', 'endpoint.tost'))
  const asJson = file('headers.json', JSON.stringify({ ...received.headers, 'webhook-id': undefined }))
  for (const [reason, more] of [
    ['parsed_body', ['--body', parsed]],
    ['changed_body', ['--body', changed]],
    ['wrong_secret', ['--secret', `whsec_${Buffer.alloc(32).toString('base64')}`]],
    ['bad_prefix', ['--secret', signingSecret.slice(6)]],
    ['stale_timestamp', ['--at', '2020-01-01T00:00:00Z']],
    ['missing_header', ['--headers', asJson]],
  ] as const) {
    const { out, code } = await verify(...more)
    assert.match(out, new RegExp(`^✗ ${reason}: `))
    assert.equal(code, 1)
  }
  assert.equal((await verify('--body', join(folder, 'none'))).code, 2)
  assert.equal((await verify('--at', 'noon')).code, 2)
})
