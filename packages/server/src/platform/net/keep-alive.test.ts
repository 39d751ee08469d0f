import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { after, test } from 'node:test'
import { startDnsServer } from '../../../test/fixtures/dns-server.ts'
import { pollUntil } from '../../../test/fixtures/polling.ts'
import { holdLimits } from '../../../test/fixtures/time/held-limits.ts'
import { keepAliveAgents } from './keep-alive.ts'
import { OutboundRefused, makeSend, type OutboundRequest } from './outbound.ts'

type Arrival = {
  readonly at: string
  readonly connection: number
  readonly socket: Socket
  readonly path: string
}
const arrivals: Arrival[] = []
const answerHello = (_: IncomingMessage, response: ServerResponse): void => void response.end('hello')
let answer = answerHello

const connections = new Map<Socket, number>()
const listen = async (host: string, port: number): Promise<number> => {
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    const { socket } = request
    if (!connections.has(socket)) connections.set(socket, connections.size)
    arrivals.push({ at: host, connection: connections.get(socket) ?? 0, socket, path: request.url ?? '' })
    answer(request, response)
  })
  await new Promise<void>((resolve) => server.listen(port, host, resolve))
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}
const port = await listen('127.0.0.1', 0)
await listen('127.0.0.2', port)

/** Where the names lead now. */
const addresses = new Map<string, string>()
const names = await startDnsServer(({ name }) => [addresses.get(name) ?? '127.0.0.1'])
const send = makeSend(names.lookup)
const post = (host: string, options: Partial<OutboundRequest> = {}) =>
  send({
    url: `http://${host}:${port}/`,
    method: 'POST',
    body: '{}',
    timeoutMs: 5_000,
    responseBytesMax: 1_000,
    trust: 'user',
    allowLoopback: true,
    idempotent: true,
    connectionOwner: 'agt_one',
    ...options,
  })

/** The arrivals that some work causes. */
const arrivalsOf = async (work: () => Promise<unknown>): Promise<Arrival[]> => {
  arrivals.length = 0
  await work()
  return [...arrivals]
}
const connectionCountOf = (list: readonly Arrival[]) => new Set(list.map(({ connection }) => connection)).size

test('requests of one owner to one receiver share a connection', async () => {
  const list = await arrivalsOf(async () => {
    for (let n = 0; n < 5; n++) assert.equal((await post('shared.example')).body, 'hello')
  })
  assert.equal(list.length, 5)
  assert.equal(connectionCountOf(list), 1)
})

test('a connection is never shared between owners, host names or requests that may arrive once only', async () => {
  const list = await arrivalsOf(async () => {
    for (let n = 0; n < 2; n++) {
      await post('first.example')
      await post('first.example', { connectionOwner: 'agt_two' })
      await post('second.example')
    }
  })
  assert.equal(connectionCountOf(list), 3)
  const single = await arrivalsOf(() => post('first.example', { idempotent: false }))
  assert.equal(connectionCountOf([...list, ...single]), 4)
})

test('TLS connections are separated by the name of the certificate, and all by owner, address and port', () => {
  const peer = {
    connectionKey: 'agt_one hooks.example',
    host: '93.184.215.14',
    port: 443,
    servername: 'hooks.example',
  }
  const others = [
    { servername: 'other.example' },
    { host: '93.184.215.15' },
    { port: 8443 },
    { connectionKey: 'agt_two hooks.example' },
  ]
  for (const agent of [keepAliveAgents.https, keepAliveAgents.http])
    for (const other of agent === keepAliveAgents.http ? others.slice(1) : others)
      assert.notEqual(agent.getName({ ...peer, ...other }), agent.getName(peer))
})

test('a name that leads to a private address now is refused, although a connection to its old address is open', async () => {
  await post('rebinds.example')
  const list = await arrivalsOf(async () => {
    for (const address of ['10.0.0.1', '169.254.169.254', '100.64.0.1']) {
      addresses.set('rebinds.example', address)
      await assert.rejects(post('rebinds.example'), OutboundRefused, address)
    }
    // Loopback is as private where it is not allowed.
    addresses.set('rebinds.example', '127.0.0.1')
    await assert.rejects(post('rebinds.example', { allowLoopback: false }), OutboundRefused)
  })
  assert.deepEqual(list, [])
})

test('a name that leads elsewhere now is reached there, and not on the connection to its old address', async () => {
  addresses.set('moves.example', '127.0.0.1')
  const [first] = await arrivalsOf(() => post('moves.example'))
  addresses.set('moves.example', '127.0.0.2')
  const [second] = await arrivalsOf(() => post('moves.example'))
  assert.deepEqual([first?.at, second?.at], ['127.0.0.1', '127.0.0.2'])
})

test('a redirect on a keep-alive connection is an answer and is not followed', async () => {
  await post('redirects.example')
  answer = (_, response) =>
    void response.writeHead(307, { location: `http://127.0.0.2:${port}/secret` }).end()
  const list = await arrivalsOf(async () => {
    assert.equal((await post('redirects.example')).status, 307)
    answer = answerHello
    assert.equal((await post('redirects.example')).status, 200)
  })
  assert.deepEqual(
    list.map(({ at, path }) => [at, path]),
    [
      ['127.0.0.1', '/'],
      ['127.0.0.1', '/'],
    ],
  )
})

test('an answer that nobody asked for is not taken for the answer to the next request', async () => {
  const forged = 'HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged'
  const [first] = await arrivalsOf(() => post('forges.example'))
  first?.socket.write(forged)
  await new Promise((resolve) => first?.socket.once('close', resolve))
  answer = (_, response) => void response.writeHead(500).end('refused')
  const [second] = await arrivalsOf(async () => {
    const response = await post('forges.example')
    assert.deepEqual([response.status, response.body], [500, 'refused'])
  })
  assert.notEqual(second?.connection, first?.connection)
  // In one packet with the answer that it follows.
  answer = (request) => void request.socket.write(`HTTP/1.1 204 No Content\r\n\r\n${forged}`)
  await post('forges.example').catch(() => undefined)
  answer = (_, response) => void response.writeHead(500).end('refused')
  assert.equal((await post('forges.example')).status, 500)
  answer = answerHello
})

test('a connection whose answer was cut or came too late is not used again', async (t) => {
  // A length that no other timer has.
  const timeoutMs = 4_321
  const limits = holdLimits(t, timeoutMs)
  for (const reply of [
    (_: IncomingMessage, response: ServerResponse) => void response.end('x'.repeat(100_000)),
    () => limits.runOut(limits.running()),
  ]) {
    answer = reply
    const [first] = await arrivalsOf(() => post('cuts.example', { timeoutMs }).catch(() => undefined))
    answer = answerHello
    const [second] = await arrivalsOf(() => post('cuts.example'))
    assert.notEqual(second?.connection, first?.connection)
  }
})

test('a receiver that closes a keep-alive connection as it is used again gets the request on a new one', async () => {
  await post('closes.example')
  answer = (request) => {
    answer = answerHello
    request.socket.destroy()
  }
  const list = await arrivalsOf(async () => assert.equal((await post('closes.example')).body, 'hello'))
  assert.equal(connectionCountOf(list), 2)
})

/** What earlier calls left idle closes by itself after 4 s, in the middle of a count. */
const closeIdle = () => {
  keepAliveAgents.http.destroy()
  return pollUntil('no connection is idle', async () => keepAliveAgents.idleCount() === 0)
}

const postAgain = () => post('127.0.0.1', { connectionOwner: 'agt_0' })

test('idle connections are few for each receiver and in all, and none is older than its limit', async (t) => {
  const held: ServerResponse[] = []
  answer = (_, response) => void held.push(response)
  const together = (owners: readonly string[]) => {
    const all = Promise.all(owners.map((connectionOwner) => post('127.0.0.1', { connectionOwner })))
    const release = setInterval(() => {
      if (held.length >= owners.length) for (const response of held.splice(0)) response.end('hello')
    }, 10)
    return all.finally(() => clearInterval(release))
  }
  await closeIdle()
  await together(Array.from({ length: 120 }, () => 'agt_many'))
  assert.equal(keepAliveAgents.idleCount(), 96)
  await closeIdle()
  await together(Array.from({ length: 300 }, (_, n) => `agt_${n}`))
  assert.equal(keepAliveAgents.idleCount(), 256)
  answer = answerHello
  const [first] = await arrivalsOf(postAgain)
  const now = performance.now()
  t.mock.method(performance, 'now', () => now + 60_001)
  const [second, third] = await arrivalsOf(async () => {
    await postAgain()
    await postAgain()
  })
  assert.equal(second?.connection, first?.connection)
  assert.notEqual(third?.connection, second?.connection)
})
