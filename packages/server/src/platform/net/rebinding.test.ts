import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { startDnsServer } from '../../../test/fixtures/dns-server.ts'
import { OutboundRefused, makeSend, type OutboundRequest } from './outbound.ts'

/** Two places of this machine at one port: where a name leads when it is checked, and where it leads afterwards. */
const hits = { checked: 0, canary: 0 }
const listen = async (host: string, port: number, count: () => void): Promise<Server> => {
  const server = createServer((_, response) => {
    count()
    response.end('hello')
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  return server
}
const checked = await listen('127.0.0.1', 0, () => (hits.checked += 1))
const { port } = checked.address() as AddressInfo
await listen('127.0.0.2', port, () => (hits.canary += 1))

const mixtures: Readonly<Record<string, readonly string[]>> = {
  'public-then-loopback.example': ['93.184.215.14', '127.0.0.2'],
  'loopback-then-public.example': ['127.0.0.2', '93.184.215.14'],
  'public-and-metadata.example': ['93.184.215.14', '169.254.169.254'],
  'public-and-private.example': ['93.184.215.14', '10.0.0.1'],
  'public-and-shared.example': ['93.184.215.14', '100.64.0.1'],
  'public-and-loopback6.example': ['93.184.215.14', '::1'],
  'public-and-mapped.example': ['93.184.215.14', '::ffff:7f00:2'],
  'public-and-nat64.example': ['93.184.215.14', '64:ff9b::7f00:2'],
  'public-and-6to4.example': ['93.184.215.14', '2002:7f00:2::'],
  'public-and-unique-local.example': ['93.184.215.14', 'fd00:ec2::254'],
  'public-and-link-local.example': ['93.184.215.14', 'fe80::1'],
  'only-loopback.example': ['127.0.0.2'],
  'only-zero.example': ['0.0.0.0'],
  'nothing.example': [],
}
const names = await startDnsServer(({ name, turn }) => {
  // The attack: a good answer to the check, another to whoever asks again.
  if (name === 'rebinds.example') return turn === 1 ? ['127.0.0.1'] : ['127.0.0.2']
  return mixtures[name] ?? []
})
const send = makeSend(names.lookup)
const get = (host: string, options: Partial<OutboundRequest> = {}) =>
  send({
    url: `http://${host}:${port}/`,
    method: 'GET',
    timeoutMs: 3_000,
    responseBytesMax: 1_000,
    trust: 'user',
    ...options,
  })

test('a name that resolves differently after the check is reached at the checked address, and resolved only once', async () => {
  assert.equal((await get('rebinds.example', { allowLoopback: true })).status, 200)
  assert.deepEqual(hits, { checked: 1, canary: 0 })
  assert.deepEqual(names.queries.toSorted(), ['A rebinds.example', 'AAAA rebinds.example'])
  // The name does change: whoever checks and then connects by name, as most clients do, is sent to the canary.
  const [second] = await names.lookup('rebinds.example')
  assert.equal(second?.address, '127.0.0.2')
  await fetch(`http://${second.address}:${port}/`)
  assert.deepEqual(hits, { checked: 1, canary: 1 })
})

test('one address that is not public, at any position of the answer, refuses the host', async () => {
  const before = { ...hits }
  for (const host of Object.keys(mixtures)) await assert.rejects(get(host), OutboundRefused, host)
  // Where loopback is allowed, the other special addresses are still refused.
  for (const host of [
    'public-and-metadata.example',
    'public-and-private.example',
    'public-and-mapped.example',
  ])
    await assert.rejects(get(host, { allowLoopback: true }), OutboundRefused, host)
  assert.deepEqual(hits, before)
})
