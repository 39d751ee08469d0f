import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { hostname } from 'node:os'
import { after, test, type TestContext } from 'node:test'
import { holdLimits } from '../../../test/fixtures/time/held-limits.ts'
import { OutboundRefused, isPublicAddress, send, type OutboundRequest } from './outbound.ts'

/** A listener on every address of this machine: whatever the guard lets through arrives here and is counted. */
type Reply = (request: IncomingMessage, response: ServerResponse) => void
const helloReply: Reply = (_, response) => void response.end('hello')
const canary = { hits: [] as string[], reply: helloReply }
const server = createServer((request, response) => {
  canary.hits.push(request.url ?? '')
  canary.reply(request, response)
})
await new Promise<void>((resolve) => server.listen(0, '::', resolve))
after(() => {
  server.closeAllConnections()
  server.close()
})
const address = server.address()
const port = address !== null && typeof address === 'object' ? address.port : 0

const base = { method: 'GET', timeoutMs: 2_000, responseBytesMax: 1_000, trust: 'user' } as const
const get = (host: string, options: Partial<OutboundRequest> = {}) =>
  send({ ...base, url: `http://${host}:${port}/${encodeURIComponent(host)}`, ...options })
const hitsDuring = async (work: () => Promise<unknown>): Promise<string[]> => {
  const before = canary.hits.length
  await work()
  return canary.hits.slice(before)
}

const notPublic: Readonly<Record<string, readonly string[]>> = {
  'this network': ['0.0.0.0', '0.1.2.3', '0.255.255.255'],
  private: ['10.0.0.0', '10.255.255.255', '172.16.0.1', '172.31.255.255', '192.168.0.1', '192.168.255.255'],
  'shared and carrier': ['100.64.0.1', '100.127.255.255'],
  loopback: ['127.0.0.1', '127.0.0.2', '127.255.255.255', '::1', '0:0:0:0:0:0:0:1'],
  unspecified: ['::', '0:0:0:0:0:0:0:0'],
  'link-local': ['169.254.0.1', '169.254.169.254', 'fe80::1', 'febf::1', 'fe80::1%eth0'],
  'protocol assignments': ['192.0.0.1', '192.0.0.170', '192.31.196.1', '192.52.193.1', '192.175.48.1'],
  documentation: ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1', '3fff:fff::1'],
  benchmarking: ['198.18.0.1', '198.19.255.255', '2001:2::1'],
  'relay and 6to4': ['192.88.99.1', '2002::1', '2002:7f00:1::', '2002:c0a8:101::1', '2002:a9fe:a9fe::'],
  multicast: ['224.0.0.1', '239.255.255.255', 'ff02::1', 'ff05::2', 'ff0e::1'],
  'reserved and broadcast': ['240.0.0.1', '254.1.1.1', '255.255.255.255'],
  mapped: [
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::ffff:10.0.0.1',
    '::ffff:169.254.169.254',
    '::ffff:8.8.8.8',
  ],
  compatible: ['::127.0.0.1', '::7f00:1', '::10.0.0.1'],
  translated: [
    '64:ff9b::127.0.0.1',
    '64:ff9b::7f00:1',
    '64:ff9b::a00:1',
    '64:ff9b:1::7f00:1',
    '::ffff:0:7f00:1',
  ],
  Teredo: ['2001::1', '2001:0:4136:e378:8000:63bf:3fff:fdd2'],
  'ORCHID and other assignments': ['2001:10::1', '2001:20::1', '2001:1ff::1'],
  'unique local': ['fc00::1', 'fd00::1', 'fdff:ffff::1', 'fd00:ec2::254'],
  'site-local and discard': ['fec0::1', '100::1', '5f00::1'],
  'no address at all': [
    '',
    'localhost',
    '127.1',
    '0x7f000001',
    '2130706433',
    '0177.0.0.1',
    '[::1]',
    ' 8.8.8.8',
    '8.8.8.8.',
  ],
}

test('no private, special or malformed address passes for a public one', (t) => {
  const all = Object.entries(notPublic).flatMap(([kind, list]) => list.map((text) => ({ kind, text })))
  t.diagnostic(`${all.length} addresses`)
  assert.ok(all.length >= 60)
  for (const { kind, text } of all) assert.equal(isPublicAddress(text), false, `${kind}: ${text}`)
})

test('ordinary addresses of the internet are public, up to the edge of each range', () => {
  const list = ['1.1.1.1', '8.8.8.8', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0']
  list.push('126.255.255.255', '128.0.0.0', '172.15.255.255', '172.32.0.0', '192.167.255.255', '192.169.0.0')
  list.push(
    '198.17.255.255',
    '198.20.0.0',
    '223.255.255.255',
    '2606:4700::1111',
    '2a00:1450::1',
    '2001:200::1',
  )
  for (const text of list) assert.equal(isPublicAddress(text), true, text)
})

/** Ways to write this machine; URL parsing or the resolver turns each into an address of it. */
const local = [
  '127.0.0.1',
  '127.0.0.1.',
  '127.1',
  '127.0.1',
  '127.99.99.99',
  '2130706433',
  '0x7f000001',
  '0x7f.1',
  '0X7F.0.0.0x1',
  '017700000001',
  '0177.0.0.1',
  '0177.0.0.01',
  '127.0.0x0.1',
  '１２７.０.０.１',
  '①②⑦.⓪.⓪.①',
  '127。0。0。1',
  '127．0．0．1',
  '%31%32%37.0.0.1',
  '0.0.0.0',
  '0',
  '00.00.00.00',
  'localhost',
  'LOCALHOST',
  'localhost.',
  'ｌｏｃａｌｈｏｓｔ',
  'loc\tal\nhost',
  hostname(),
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[0000:0000:0000:0000:0000:0000:0000:0001]',
  '[::0.0.0.1]',
  '[::]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[0:0:0:0:0:FFFF:7F00:0001]',
]
const elsewhere = [
  '10.0.0.1',
  '0xa000001',
  '169.254.169.254',
  '2852039166',
  '0xa9.0xfe.0xa9.0xfe',
  '0251.0376.0251.0376',
  '192.168.1.1',
  '100.64.0.1',
  '224.0.0.1',
  '255.255.255.255',
  '[64:ff9b::7f00:1]',
  '[2002:7f00:1::]',
  '[2001::1]',
  '[fd00:ec2::254]',
  '[fe80::1]',
  '[ff02::1]',
  '[::127.0.0.1]',
  '[::ffff:a9fe:a9fe]',
  '[::ffff:0:7f00:1]',
  '[64:ff9b:1::7f00:1]',
  '[2002:a9fe:a9fe::]',
  '[100::1]',
  '[fc00::1]',
  '[fec0::1]',
  '[2001:db8::1]',
  '172.16.0.1',
  '198.18.0.1',
  '192.0.0.1',
  '240.0.0.1',
]

/** A name that this machine's resolver does not know leads nowhere, which is as good. */
const refused = (error: unknown) =>
  error instanceof OutboundRefused || /ENOTFOUND|EAI_AGAIN/.test(String(error))

test('no way of writing a local or special host lets a user’s request out', async (t) => {
  const hits = await hitsDuring(async () => {
    for (const host of [...local, ...elsewhere]) await assert.rejects(get(host), refused, host)
  })
  assert.deepEqual(hits, [])
  t.diagnostic(`${local.length + elsewhere.length} hosts`)
  assert.ok(local.length + elsewhere.length >= 60)
  // The canary does hear: the same hosts, unguarded as an operator's are, arrive.
  const unguarded = await hitsDuring(() =>
    Promise.allSettled(local.map((host) => get(host, { trust: 'operator' }))),
  )
  assert.ok(unguarded.length >= local.length - 5, `only ${unguarded.length} of ${local.length} arrived`)
})

test('a host that merely embeds or prefixes a public name is checked by what it resolves to', async () => {
  const hits = await hitsDuring(async () => {
    for (const url of [
      `http://example.com@127.0.0.1:${port}/`,
      `http://example.com:80@127.0.0.1:${port}/`,
      `http://user:secret@[::1]:${port}/`,
      `http://127.0.0.1:${port}\\@example.com/`,
      `http:127.0.0.1:${port}`,
      `http:\\\\127.0.0.1:${port}\\`,
    ])
      await assert.rejects(send({ ...base, url }), OutboundRefused, url)
  })
  assert.deepEqual(hits, [])
})

test('only http and https leave', async () => {
  for (const scheme of ['ftp', 'file', 'gopher', 'ws', 'data', 'javascript', 'blob'])
    for (const trust of ['user', 'operator'] as const)
      await assert.rejects(send({ ...base, trust, url: `${scheme}://127.0.0.1/` }), OutboundRefused)
})

test('loopback is open only where it was allowed, and nothing else with it', async () => {
  for (const host of ['127.0.0.1', 'localhost', '[::1]', '2130706433']) {
    const hits = await hitsDuring(async () => {
      await assert.rejects(get(host), OutboundRefused)
      await assert.rejects(get(host, { allowLoopback: false }), OutboundRefused)
    })
    assert.deepEqual(hits, [], host)
    assert.equal((await get(host, { allowLoopback: true })).body, 'hello', host)
  }
  const hits = await hitsDuring(async () => {
    for (const host of [...elsewhere, '0.0.0.0', '[::]'])
      await assert.rejects(get(host, { allowLoopback: true }), OutboundRefused, host)
  })
  assert.deepEqual(hits, [])
})

test('an address of a user’s that carries credentials is refused even where its host is allowed', async () => {
  const hits = await hitsDuring(async () => {
    for (const host of ['user@127.0.0.1', 'user:secret@127.0.0.1', ':secret@127.0.0.1'])
      await assert.rejects(get(host, { allowLoopback: true }), OutboundRefused, host)
  })
  assert.deepEqual(hits, [])
})

const withReply = async <T>(reply: Reply, work: () => Promise<T>): Promise<T> => {
  canary.reply = reply
  try {
    return await work()
  } finally {
    canary.reply = helloReply
  }
}

test('a redirect is an answer and is never followed', async () => {
  for (const status of [301, 302, 303, 307, 308]) {
    const redirect: Reply = (_, response) =>
      void response.writeHead(status, { location: `http://127.0.0.1:${port}/secret` }).end()
    const hits = await hitsDuring(async () => {
      const answer = await withReply(redirect, () => get('127.0.0.1', { allowLoopback: true }))
      assert.equal(answer.status, status)
    })
    assert.deepEqual(hits, ['/127.0.0.1'])
  }
})

test('method, headers and body arrive as they were passed', async () => {
  const received: unknown[] = []
  const record: Reply = (request, response) => {
    request.setEncoding('utf8')
    request.on('data', (text: string) => received.push(request.method, request.headers['x-probe'], text))
    request.on('end', () => response.end('ok'))
  }
  const answer = await withReply(record, () =>
    get('127.0.0.1', { allowLoopback: true, method: 'POST', body: '{"ü":1}', headers: { 'x-probe': 'yes' } }),
  )
  assert.deepEqual(received, ['POST', 'yes', '{"ü":1}'])
  assert.deepEqual([answer.status, answer.body], [200, 'ok'])
})

test('a response is cut at the size limit, and its status is kept', async () => {
  const ended = Promise.withResolvers<boolean>()
  const flood: Reply = (_, response) => {
    response.on('close', () => ended.resolve(response.writableFinished))
    const more = (): void => {
      while (!response.destroyed && response.write('x'.repeat(900)));
      if (!response.destroyed) response.once('drain', more)
    }
    more()
  }
  const answer = await withReply(flood, () => get('127.0.0.1', { allowLoopback: true, timeoutMs: 10_000 }))
  assert.equal(answer.status, 200)
  assert.ok(answer.body.length <= 1_000, `${answer.body.length} characters`)
  assert.match(answer.body, /^x*$/)
  assert.equal(await ended.promise, false, 'the flood was cut, not finished')
})

const limited = { timeout: 60_000 }
/** Replies that never end. The time of the request is over when nothing was answered, or after some bytes. */
const endlessReplies = (t: TestContext, timeoutMs: number) => {
  const limits = holdLimits(t, timeoutMs)
  const runOut = (): void => limits.runOut(limits.running())
  const drip: Reply = (_, response) => {
    let bytes = 0
    const timer = setInterval(() => {
      response.write('.')
      bytes += 1
      if (bytes === 10) runOut()
    }, 20)
    response.on('close', () => clearInterval(timer))
  }
  return { silent: runOut, drip }
}
const hangUp: Reply = (request) => void request.socket.destroy()

// Without the timeout these requests would never end: the time limit of the test fails it then.
test(
  'a receiver that is silent, or drips without end, holds a request no longer than its time',
  limited,
  async (t) => {
    // A length that no other timer has.
    const timeoutMs = 4_321
    const { silent, drip } = endlessReplies(t, timeoutMs)
    for (const reply of [silent, drip]) {
      await withReply(reply, () =>
        get('127.0.0.1', { allowLoopback: true, timeoutMs }).then(
          () => assert.equal(reply, drip, 'a silent receiver cannot have answered'),
          (error: unknown) => assert.match(String(error), /abort|timeout/i),
        ),
      )
    }
  },
)

test('a receiver that hangs up fails the request', async () => {
  await assert.rejects(
    withReply(hangUp, () => get('127.0.0.1', { allowLoopback: true })),
    /hang up|ECONNRESET/,
  )
})

test('an idempotent request reuses a connection, and is sent once more if that was closed meanwhile', async (t) => {
  const ports: number[] = []
  let closeNext = false
  const node = createServer((request, response) => {
    ports.push(request.socket.remotePort ?? 0)
    if (closeNext) {
      closeNext = false
      request.socket.destroy()
    } else response.end('hello')
  })
  await new Promise<void>((resolve) => node.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    node.closeAllConnections()
    node.close()
  })
  const at = node.address()
  const url = `http://127.0.0.1:${at !== null && typeof at === 'object' ? at.port : 0}/`
  const ask = (options: Partial<OutboundRequest>) => send({ ...base, url, ...options })
  const connectionsOf = async (options: Partial<OutboundRequest>) => {
    ports.length = 0
    for (let n = 0; n < 3; n++) assert.equal((await ask(options)).body, 'hello')
    return new Set(ports).size
  }
  assert.equal(await connectionsOf({ trust: 'operator', idempotent: true }), 1)
  assert.equal(await connectionsOf({ trust: 'operator' }), 3)
  assert.equal(await connectionsOf({ idempotent: true, allowLoopback: true }), 3)

  ports.length = 0
  closeNext = true
  assert.equal((await ask({ trust: 'operator', idempotent: true })).body, 'hello')
  assert.equal(new Set(ports).size, 2)
  // A connection of its own that is closed is a failure, and so is what must not arrive twice.
  closeNext = true
  await assert.rejects(ask({ trust: 'operator' }))
})
