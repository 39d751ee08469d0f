import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type AddressInfo } from 'node:net'
import { test } from 'node:test'
import { startHarness } from '../fixtures/harness.ts'

const harness = await startHarness()
await harness.app.api.listen({ host: '127.0.0.1', port: 0 })
const { port } = harness.app.api.server.address() as AddressInfo

const open = async (text: string) => {
  const socket = connect(port, '127.0.0.1')
  let answer = ''
  socket.setEncoding('utf8')
  socket.on('data', (chunk: string) => (answer += chunk))
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  socket.write(text)
  return { socket, answer: () => answer, closed: once(socket, 'close') }
}

const body = JSON.stringify({ name: 'Slow', contactEmail: 'slow@slow.example', mode: 'test' })
const head = `POST /api/agents/register HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n`
/** The service closes after 10 s and looks every second. Node's own limits close after 60 s at the earliest. */
const closedMs = 50_000

test('headers and bodies that stall are closed, and a body that goes on arriving is served', async () => {
  const stalled = await Promise.all([open(''), open(head.slice(0, 40)), open(`${head}${body.slice(0, 5)}`)])
  const slow = await open(head)
  let sent = 0
  // A byte every second, for as long as the others are open.
  const drip = setInterval(() => {
    if (sent < body.length - 1) slow.socket.write(body[sent++] ?? '')
  }, 1_000)
  const startedAt = performance.now()
  await Promise.all(stalled.map(({ closed }) => closed))
  const tookMs = performance.now() - startedAt
  clearInterval(drip)
  assert.ok(tookMs < closedMs, `closed after ${tookMs} ms`)
  slow.socket.write(body.slice(sent))
  await slow.closed
  assert.match(slow.answer(), /^HTTP\/1\.1 200 /)
})
