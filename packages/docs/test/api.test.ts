import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endpoints, errorsOf, unsharedOpenApiDocument, type Endpoint } from '@pohf/protocol'
import { apiDocuments } from '../src/api/pages.ts'
import { bodyOf } from '../src/api/request.ts'
import { fieldsOf, meaningOf, type Schema } from '../src/api/schema.ts'

const rows: readonly Endpoint[] = endpoints
const introduction = {
  path: 'docs/reference/api.md',
  address: '/docs/reference/api',
  markdown: '# API reference',
}
const text = apiDocuments(introduction)
  .map(({ markdown }) => markdown)
  .join('\n')

test('the reference has every endpoint with its errors and a request', () => {
  assert.ok(rows.length > 120)
  for (const row of rows) {
    const start = text.indexOf(`## ${row.method} ${row.path}\n`)
    assert.notEqual(start, -1, row.publicId)
    const end = text.indexOf('\n## ', start + 1)
    const part = text.slice(start, end === -1 ? undefined : end)
    assert.match(part, /```sh\ncurl -s /, row.publicId)
    assert.ok(part.includes(row.summary), row.publicId)
    for (const code of errorsOf(row))
      assert.ok(part.includes(`/docs/errors/${code})`), `${row.publicId}: ${code}`)
  }
})

test('the body of every request is one that the endpoint takes', () => {
  const { paths } = unsharedOpenApiDocument() as {
    paths: Record<string, Record<string, { requestBody?: { content: Record<string, { schema: Schema }> } }>>
  }
  const refused = rows.flatMap((row) => {
    const schema =
      paths[row.path]?.[row.method.toLowerCase()]?.requestBody?.content['application/json']?.schema
    if (!row.body || !schema) return []
    const example = bodyOf(row, schema)
    const { error } = row.body.safeParse(row.textBody ? JSON.stringify(example) : example)
    return error
      ? [
          `${row.publicId}: ${JSON.stringify(example)}: ${error.issues.map(({ path, message }) => `${path.join('.')} ${message}`).join('; ')}`,
        ]
      : []
  })
  assert.deepEqual(refused, [])
})

test('fields inside fields are listed with their path and bounds', () => {
  const schema: Schema = {
    type: 'object',
    required: ['units'],
    properties: {
      units: {
        type: 'array',
        maxItems: 3,
        items: { type: 'object', properties: { id: { type: 'string' } } },
      },
    },
  }
  assert.deepEqual(
    fieldsOf(schema).map(({ name, isRequired }) => [name, isRequired]),
    [
      ['units', true],
      ['units[].id', false],
    ],
  )
  assert.equal(meaningOf(schema.properties?.['units'] ?? {}), 'At most 3 entries.')
})
