import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { findPython } from './install.ts'

const responseOf = (schema: object) => ({
  description: 'answer',
  content: { 'application/json': { schema } },
})
const error = responseOf({ type: 'object', required: ['error'], properties: { error: { type: 'string' } } })
const good = responseOf({
  type: 'object',
  required: ['at'],
  properties: { at: { type: 'string', format: 'date-time' } },
})
const document = {
  openapi: '3.1.0',
  info: { title: 'Planted', version: '1' },
  paths: {
    '/notes': {
      post: {
        requestBody: {
          required: true,
          content: {
            'application/json': {
              schema: {
                type: 'object',
                required: ['text', 'count'],
                additionalProperties: false,
                properties: {
                  text: { type: 'string', pattern: String.raw`^\P{Cc}+$`, maxLength: 40 },
                  count: { type: 'integer', minimum: -1_000, maximum: 1_000 },
                },
              },
            },
          },
        },
        responses: { 200: good, 400: error, 503: error },
      },
    },
    '/notes/{id}': {
      get: {
        parameters: [
          { name: 'id', in: 'path', required: true, schema: { type: 'string', pattern: '^[a-z]{1,8}$' } },
          { name: 'limit', in: 'query', schema: { type: 'integer', minimum: 1, maximum: 100 } },
        ],
        responses: { 200: good, 400: error },
      },
    },
  },
}

const at = '2026-01-01T00:00:00Z'

type Note = { readonly text: string; readonly count: number }
const isNote = (value: unknown): value is Note =>
  typeof value === 'object' &&
  value !== null &&
  'text' in value &&
  typeof value.text === 'string' &&
  'count' in value &&
  Number.isInteger(value.count)
type Answer = readonly [status: number, body: object]
type Planted = (note: Note) => Answer | undefined

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
const responseTo = (request: IncomingMessage, body: string, planted: Planted): Answer => {
  if (request.url === '/openapi.json') return [200, document]
  if (request.url === '/api/agents/register') return [201, { apiKey: 'key' }]
  if (request.method === 'GET') return [200, { at }]
  const note = parse(body)
  return isNote(note) ? (planted(note) ?? [200, { at }]) : [400, { error: 'no note' }]
}

const fuzz = async (t: TestContext, planted: Planted) => {
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      const [status, json] = responseTo(request, body, planted)
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const parameters = ['--base-url', url, '--requests', '100', '--seed', '1', '--json']
  const child = spawn(process.execPath, [join(import.meta.dirname, 'main.ts'), ...parameters])
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const code = await new Promise((resolve) => child.once('close', resolve))
  const line = output.split('\n').findLast((text) => text.startsWith('{'))
  assert.ok(line, output)
  const { requests, ...found } = JSON.parse(line) as Record<string, number>
  assert.ok((requests ?? 0) >= 100, output)
  return { code, found, output }
}

const clean = { serverErrors: 0, undocumented: 0, schemaViolations: 0 }
const cases: Readonly<Record<string, { readonly planted: Planted; readonly finds: keyof typeof clean }>> = {
  'a crash on text beyond ASCII': {
    planted: ({ text }) => (/[^\p{ASCII}]/u.test(text) ? [500, { error: 'crash' }] : undefined),
    finds: 'serverErrors',
  },
  'a status that is not documented, on a negative number': {
    planted: ({ count }) => (count < 0 ? [418, { error: 'teapot' }] : undefined),
    finds: 'undocumented',
  },
  'an answer without a required field, on an odd number': {
    planted: ({ count }) => (count % 2 === 0 ? undefined : [200, { when: 'now' }]),
    finds: 'schemaViolations',
  },
  'a time that is none': {
    planted: ({ count }) => (count % 2 === 0 ? undefined : [200, { at: 'yesterday' }]),
    finds: 'schemaViolations',
  },
  'a refusal of another form': {
    planted: ({ count }) => (count > 0 ? [400, { error: 7 }] : undefined),
    finds: 'schemaViolations',
  },
}

const skip = findPython() === undefined && 'there is no Python with venv and pip'
for (const [name, { planted, finds }] of Object.entries(cases)) {
  test(`the random requests find ${name}`, { skip }, async (t) => {
    const { code, found, output } = await fuzz(t, planted)
    assert.ok((found[finds] ?? 0) > 0, output)
    assert.deepEqual({ ...found, [finds]: 0 }, clean)
    assert.equal(code, 1)
  })
}

test('a service that keeps its document passes, with a documented 503', { skip }, async (t) => {
  const { code, found, output } = await fuzz(t, ({ count }) =>
    count > 500 ? [503, { error: 'busy' }] : undefined,
  )
  assert.deepEqual([found, code], [clean, 0], output)
})
