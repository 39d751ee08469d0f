import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { secretPurposes } from '../../src/platform/ops/secret-purposes.ts'
import {
  findSecretUses,
  purposeLines,
  readSources,
  storedFormats,
  type SourceFile,
} from './stored-formats.ts'

const sources = readSources()

/** Lines may be added here. A line that changes needs a migration of what is stored already. */
const committed = readFileSync(new URL('stored-formats.tsv', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')

test('values that are stored already are made as before', () => {
  assert.ok(committed.length >= 56, `${committed.length} values`)
  assert.deepEqual(storedFormats(), committed)
})

test('every use of the master key is found, those by a constant and those for callers too', () => {
  const uses = findSecretUses(sources)
  assert.ok(sources.length >= 600, `${sources.length} files`)
  assert.ok(uses.length >= 37, `${uses.length} uses`)
  const purposes = [...new Set(uses.map(({ purpose }) => purpose))].toSorted()
  // The purpose 'caller' seals with an API key, not with the master key.
  assert.deepEqual(purposes, [...Object.keys(secretPurposes), 'caller'].toSorted())
  assert.ok(uses.some(({ how, purpose }) => how === 'seal' && purpose === 'session-key'))
  assert.ok(uses.some(({ how, purpose }) => how === 'deriveKey' && purpose === 'caller'))
  // A plain count of the calls shows that the scan leaves none out.
  const calls = sources.flatMap(({ text }) => [...text.matchAll(/\.(?:derive|accepted|seal)\(/g)])
  assert.equal(calls.length, uses.filter(({ how }) => ['derive', 'accepted', 'seal'].includes(how)).length)
})

const file = (text: string): SourceFile => ({ path: 'planted.ts', text })

test('a changed purpose, in the call or in its constant, changes the list', () => {
  const secrets = { derive: (purpose: string) => Buffer.from(purpose) }
  const listOf = (text: string) => purposeLines(findSecretUses([file(text)]), secrets)
  const before = listOf("ctx.secrets.derive('pairwise')")
  assert.notDeepEqual(listOf("ctx.secrets.derive('subject')"), before)
  assert.deepEqual(listOf("const purpose = 'pairwise'\nsecrets.derive(purpose)"), before)
  assert.notDeepEqual(listOf("const purpose = 'subject'\nsecrets.derive(purpose)"), before)
})

test('a use that cannot be read is refused', () => {
  for (const text of [
    'secrets.derive(purpose)',
    "secrets.derive(isTest ? 'a' : 'b')",
    'secrets.seal(`${kind}`, text)',
    'const { secrets: held } = ctx',
    'const held = ctx.secrets',
    'ctx.secrets.derive',
    "ctx.secrets['derive']('a')",
    'const f = (held: Secrets) => held.derive(purpose)',
  ])
    assert.throws(() => findSecretUses([file(text)]), /cannot be read|not understood/, text)
})
