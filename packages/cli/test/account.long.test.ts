import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startHarness } from '../../server/test/fixtures/harness.ts'
import { inheritedEnvironment } from '../../server/test/fixtures/processes/child-processes.ts'

const harness = await startHarness()
const url = await harness.app.api.listen({ host: '127.0.0.1', port: 0 })
const main = fileURLToPath(new URL('../src/main.ts', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'pohf-account-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const file = join(folder, 'pohf', 'login.json')

const pohf = async (parameters: readonly string[], input = '') => {
  const child = spawn(process.execPath, [main, ...parameters], {
    env: { ...inheritedEnvironment, XDG_CONFIG_HOME: folder },
  })
  child.stdin.end(input)
  const [out, err, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.once('exit', resolve)),
  ])
  return { out, err, code }
}

test('register stores the key for later commands, and never replaces a stored key', async () => {
  const registered = await pohf([
    'register',
    '--url',
    url,
    '--name',
    'Bakery',
    '--email',
    'a@shop.example',
    '--json',
  ])
  assert.equal(registered.code, 0, registered.err)
  const { apiKey, agentId } = JSON.parse(registered.out)
  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.equal(statSync(join(folder, 'pohf')).mode & 0o777, 0o700)
  assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), { url, key: apiKey, agentId })

  const balance = await pohf(['balance'])
  assert.equal(balance.code, 0, balance.err)
  assert.match(balance.out, /^credits +0\nfree verifications +\d+ until \d{4}-/)
  assert.equal(JSON.parse((await pohf(['balance', '--json'])).out).balance, 0)

  const again = await pohf(['register', '--url', url, '--name', 'Bakery', '--email', 'a@shop.example'])
  assert.equal(again.code, 2)
  assert.match(again.err, /would replace that key\.\nFix: Run pohf logout first, or add --no-login/)
  assert.equal(JSON.parse(readFileSync(file, 'utf8')).key, apiKey)
})

test('a stored key is sent only to its own service', async () => {
  const authorizations: (string | undefined)[] = []
  const other = createServer((request, response) => {
    authorizations.push(request.headers.authorization)
    response.end('{}')
  }).listen(0, '127.0.0.1')
  after(() => other.close())
  await new Promise((resolve) => other.once('listening', resolve))
  const address = other.address()
  const port = address !== null && typeof address === 'object' ? address.port : 0
  const refused = await pohf(['balance', '--url', `http://127.0.0.1:${port}`])
  assert.equal(refused.code, 2)
  assert.match(refused.err, /An API key is needed/)
  await pohf(['balance', '--url', `http://127.0.0.1:${port}`, '--key', 'svc_test_named'])
  assert.deepEqual(authorizations, ['Bearer svc_test_named'])
})

test('balance names the disputes of packs, and what became of their credentials', async () => {
  const dispute = { pack: 'starter', disputedAt: '2026-11-02T09:00:00.000Z', suspended: 12, revoked: 0 }
  const balance = {
    balance: 3,
    lifetimePurchased: 100,
    lifetimeConsumed: 97,
    packs: [],
    freeRemaining: 0,
    freeResetsAt: '2026-12-01T00:00:00.000Z',
    disputes: [
      { ...dispute, state: 'open', isDone: false },
      { ...dispute, state: 'lost', suspended: 0, revoked: 12, isDone: true },
    ],
  }
  const server = createServer((_, response) => response.end(JSON.stringify(balance))).listen(0, '127.0.0.1')
  after(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const { out } = await pohf(['balance', '--url', `http://127.0.0.1:${port}`, '--key', 'svc_test_named'])
  assert.match(
    out,
    /^dispute of 2026-11-02 +starter: open; credentials: 12 suspended, 0 revoked, not all changed yet$/m,
  )
  assert.match(out, /^dispute of 2026-11-02 +starter: lost; credentials: 0 suspended, 12 revoked$/m)
})

test('logout deletes the key; login stores only a key that the service accepts', async () => {
  const { key } = JSON.parse(readFileSync(file, 'utf8'))
  assert.equal((await pohf(['logout'])).code, 0)
  assert.ok(!existsSync(file))
  assert.match((await pohf(['logout'])).out, /You are not logged in/)
  const keyless = await pohf(['login', '--url', url])
  assert.deepEqual([keyless.code, existsSync(file)], [2, false])
  const unknown = await pohf(['login', '--url', url], 'svc_test_unknown\n')
  assert.deepEqual([unknown.code, existsSync(file)], [1, false])
  assert.match(unknown.err, /Fix: /)
  const known = await pohf(['login', '--url', url], `${key}\n`)
  assert.equal(known.code, 0, known.err)
  assert.match(known.out, /as Bakery \(agt_\w+\), with a test key/)
  assert.ok(!known.out.includes(key), 'the key is not shown')
  assert.equal(statSync(file).mode & 0o777, 0o600)
})

test('a login file that others can read is refused, and the error names the fix', async () => {
  chmodSync(file, 0o644)
  const refused = await pohf(['balance'])
  assert.equal(refused.code, 2)
  assert.match(refused.err, /Fix: Run chmod 600 /)
  chmodSync(file, 0o600)
  assert.equal((await pohf(['balance'])).code, 0)
})

test('an order is created with its items, funded and listed', async () => {
  const offer = ['orders', 'create', 'Find a typo', '2', '--max-price-usd', '4']
  const created = await pohf([...offer, '--items', '-', '--callback-ref', 'mine'], 'one text\nanother text\n')
  assert.equal(created.code, 0, created.err)
  const [, orderId = ''] = /order +(ord_\w+)/.exec(created.out) ?? []
  assert.match(created.out, /Ordered: 2 x Find a typo for 4 USD/)
  assert.match(created.out, new RegExp(`pohf orders fund ${orderId}`))
  const shown = JSON.parse((await pohf(['orders', 'show', orderId, '--json'])).out)
  assert.deepEqual([shown.callbackRef, shown.status], ['mine', 'created'])
  const funded = await pohf(['orders', 'fund', orderId])
  assert.equal(funded.code, 0, funded.err)
  assert.match(funded.out, /Pay 4 USD until/)
  assert.match((await pohf(['orders', 'list'])).out, new RegExp(`${orderId} +funded`))

  const once = [...offer, '--fund', '--json', '--idempotency-key', 'order-1']
  const first = JSON.parse((await pohf(once)).out)
  assert.equal(JSON.parse((await pohf(once)).out).orderId, first.orderId)
  assert.match(first.funding.checkoutUrl, /^http/)
})
