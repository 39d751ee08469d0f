import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { openApiDocument, resolveReferences, unsharedOpenApiDocument } from '../src/index.ts'

type Components = { readonly components: Readonly<Record<'schemas' | 'responses', object>> }

test('docs/openapi.json has at most 400 KB', () => {
  const { length } = readFileSync(new URL('../../../docs/openapi.json', import.meta.url))
  assert.ok(length <= 400_000, `${length} bytes`)
})

test('the references stand for what holds at their places', () => {
  const document = openApiDocument()
  const unshared = unsharedOpenApiDocument()
  const resolved = resolveReferences(document, { ...document, components: {} })
  assert.deepEqual(resolved, resolveReferences(unshared, { ...unshared, components: {} }))
})

test('every component is referred to', () => {
  const document = openApiDocument() as Components & Record<string, unknown>
  const text = JSON.stringify(document)
  const unused = (['schemas', 'responses'] as const).flatMap((kind) =>
    Object.keys(document.components[kind])
      .map((name) => `#/components/${kind}/${name}`)
      .filter((reference) => !text.includes(`{"$ref":"${reference}"`)),
  )
  assert.deepEqual(unused, [])
})
