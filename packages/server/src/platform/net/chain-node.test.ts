import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { callNode } from './chain-node.ts'

type NodeCall = { readonly id: number; readonly method: string }
type Node = (sent: NodeCall | readonly NodeCall[], response: ServerResponse, request: IncomingMessage) => void

const startNode = async (t: TestContext, answer: Node): Promise<string> => {
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => answer(JSON.parse(body) as NodeCall, response, request))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/secret-key`
}
const limits = { timeoutMs: 10_000, answerBytesMax: 10_000 }
const call = (method = 'eth_chainId') => ({ method, params: ['0xfeed'] })
const listOf = (sent: NodeCall | readonly NodeCall[]) =>
  Array.isArray(sent) ? (sent as readonly NodeCall[]) : [sent as NodeCall]

test('one call is one object, several are one batch, answered in any order', async (t) => {
  const seen: unknown[] = []
  const url = await startNode(t, (sent, response) => {
    seen.push(Array.isArray(sent))
    const answers = listOf(sent).map(({ id, method }) => ({ jsonrpc: '2.0', id, result: method }))
    response.end(JSON.stringify(Array.isArray(sent) ? answers.toReversed() : answers[0]))
  })
  const ask = async (...methods: string[]) =>
    (await callNode({ url, ...limits }, methods.map(call))).map(({ result }) => result)
  assert.deepEqual(await ask('a'), ['a'])
  assert.deepEqual(await ask('a', 'b', 'c'), ['a', 'b', 'c'])
  assert.deepEqual(seen, [false, true])
})

test("the node's own error is an answer, also with status 400", async (t) => {
  const error = { code: 3, message: 'execution reverted', data: '0x08c379a0' }
  const url = await startNode(t, (sent, response) =>
    response.writeHead(400).end(JSON.stringify({ id: listOf(sent)[0]?.id, error })),
  )
  const [answer] = await callNode({ url, ...limits }, [call('eth_call')])
  assert.deepEqual(answer?.error, error)
})

const faults: Readonly<Record<string, Node>> = {
  'is no JSON': (_, response) => response.end('<html>'),
  'is null': (_, response) => response.end('null'),
  'is empty': (_, response) => response.end(),
  'is a page of a proxy': (_, response) => response.writeHead(502).end('{"result":"0x1"}'),
  'is an error of another form': (_, response) => response.end('{"error":"no"}'),
  'is longer than permitted': (_, response) => response.end(JSON.stringify({ result: 'x'.repeat(20_000) })),
  'is cut': (_, response) => {
    response.writeHead(200, { 'content-length': '100' }).write('{"result":"0x1"}')
    setImmediate(() => response.destroy())
  },
  'is a closed connection': (_, response) => response.destroy(),
  'leads elsewhere': (_, response) => response.writeHead(307, { location: '/elsewhere' }).end(),
}
for (const [name, answer] of Object.entries(faults)) {
  test(`an answer that ${name} rejects once, without the URL or the call in the error`, async (t) => {
    let requests = 0
    const url = await startNode(t, (...all) => {
      requests += 1
      answer(...all)
    })
    const error = await callNode({ url, ...limits }, [call()]).then(
      () => undefined,
      (caught: unknown) => caught,
    )
    assert.ok(error instanceof Error)
    assert.equal(requests, 1)
    const shown = [error.message, error.stack, String(error.cause)].join(' ')
    assert.doesNotMatch(shown, /secret-key|0xfeed/)
  })
}

for (const [name, answer] of [
  ['too few answers', '[{"id":1,"result":"0x1"}]'],
  ['two answers of one call', '[{"id":1,"result":"0x1"},{"id":1,"result":"0x1"}]'],
] as const)
  test(`a batch with ${name} rejects`, async (t) => {
    const url = await startNode(t, (_, response) => response.end(answer))
    await assert.rejects(callNode({ url, ...limits }, [call(), call()]))
  })

test('a node that hangs is given up after the timeout', async (t) => {
  const url = await startNode(t, () => undefined)
  await assert.rejects(callNode({ url, ...limits, timeoutMs: 50 }, [call()]), { name: 'TimeoutError' })
})
