import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { endpoints, operatorEndpoints } from '@pohf/protocol'
import { readSources, serverRoot } from './import-rules.ts'
import { operationsReachingValue, operationsWithoutValue, valueOperations } from './value-operations.ts'

const sources = readSources()
/** Operations that change something: all that are no GET, and the purchase, which the specification makes a GET. */
const changing = [
  ...new Set(
    [...endpoints, ...operatorEndpoints]
      .filter(({ id, method }) => method !== 'GET' || id === 'purchases.buy')
      .map(({ id }) => id),
  ),
]
const listed = valueOperations.map(({ id }) => id)

test('every operation that changes something is listed as moving value or not, and only once', () => {
  assert.ok(changing.length > 80, `${changing.length} operations`)
  assert.deepEqual([...listed, ...operationsWithoutValue].toSorted(), changing.toSorted())
})

test('an operation whose code reaches a posting or a mint is listed as moving value', () => {
  const reaching = operationsReachingValue(changing, sources)
  assert.ok(reaching.length >= 20, `${reaching.length} operations`)
  assert.deepEqual(
    reaching.filter((id) => !listed.includes(id)),
    [],
  )
})

test('a new operation that posts is found', () => {
  const planted = {
    path: 'sessions/finish.ts',
    text: "import { post } from '../ledger/index.ts'\nexport const finish = (tx) => post(tx, entry)",
  }
  const files = [...sources.filter(({ path }) => path !== planted.path), planted]
  assert.ok(operationsReachingValue(changing, files).includes('sessions.finish'))
})

test('each operation that moves value names a crash test that exists', () => {
  for (const { id, crash } of valueOperations) {
    if (crash === 'case') continue
    const text = readFileSync(join(serverRoot, '../..', crash.file), 'utf8')
    const names = [...text.matchAll(/test\(\s*(['"`])(.*?)\1/gs)].map((match) => match[2] ?? '')
    assert.ok(
      names.some((name) => name.includes(crash.test)),
      `${id}: ${crash.file} has no test "${crash.test}"`,
    )
  }
})
