import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nameOf } from '../../src/platform/db/sealed.ts'
import { secretPurposes } from '../../src/platform/ops/secret-purposes.ts'
import { bearerMinutes as consoleMinutes } from '../../src/accounts/rules.ts'
import { bearerMinutes as operatorMinutes } from '../../src/operators/rules.ts'
import { tokenMinutes, visitorMinutes } from '../../src/microtasks/token.ts'
import { isTokenValid } from '../../src/tracking/rules.ts'
import { sealedColumns } from '../../src/wiring/index.ts'
import { startHarness } from '../fixtures/harness.ts'

/** Columns with this word in their name that are sealed under another key, or hold no text. */
const otherColumns: Readonly<Record<string, string>> = {
  'root_sessions.sealed': 'the key of the day',
  'idempotency_keys.sealed': 'whether the body is sealed with the API key of the caller',
  'attention_batches.sealed_at': 'a time',
  'attention_delivery.sealed': 'a number',
}

/** What differs between the columns that purposes name, those that a rewrap moves, and those of the schema. */
const columnFaults = (
  moved: readonly string[],
  named: readonly string[],
  stored: readonly string[],
): string[] => [
  ...named.filter((name) => !moved.includes(name)).map((name) => `${name} is not moved`),
  ...moved.filter((name) => !named.includes(name)).map((name) => `${name} belongs to no purpose`),
  ...stored
    .filter((name) => !named.includes(name) && otherColumns[name] === undefined)
    .map((name) => `${name} is sealed under an unknown key`),
]

const named = Object.values(secretPurposes).flatMap(({ rotation }): readonly string[] =>
  rotation.how === 'resealed' ? rotation.columns : [],
)
const moved = sealedColumns.map(nameOf)

test('a rewrap moves every column that is sealed under the master key', async () => {
  const harness = await startHarness()
  const { rows } = await harness.owner.query<{ name: string }>(
    `select table_name || '.' || column_name as name from information_schema.columns c
     join information_schema.tables t using (table_schema, table_name)
     where table_schema = 'public' and table_type = 'BASE TABLE' and column_name like '%sealed%'
       and not exists (select from pg_inherits where inhrelid = format('%I', table_name)::regclass)`,
  )
  const stored = rows.map(({ name }) => name)
  assert.ok(stored.length >= 6, `${stored.length} columns`)
  assert.deepEqual(columnFaults(moved, named, stored), [])
  for (const { purpose, ...column } of sealedColumns) {
    const { rotation } = secretPurposes[purpose]
    assert.ok((rotation.columns as readonly string[]).includes(nameOf({ purpose, ...column })), purpose)
  }
})

test('a column that a rewrap skips is found', () => {
  assert.deepEqual(columnFaults(moved.slice(1), named, moved), [`${moved[0]} is not moved`])
  assert.deepEqual(columnFaults(moved, named, [...moved, 'disputes.text_sealed']), [
    'disputes.text_sealed is sealed under an unknown key',
  ])
})

const acceptedMinutesOf = (
  purpose: 'console-bearer' | 'operator-bearer' | 'task-token' | 'task-visitor' | 'vt',
) => secretPurposes[purpose].rotation.hours * 60

test('tokens of an old version are accepted at least as long as they are valid', () => {
  assert.ok(acceptedMinutesOf('console-bearer') >= consoleMinutes)
  assert.ok(acceptedMinutesOf('operator-bearer') >= operatorMinutes)
  assert.ok(acceptedMinutesOf('task-token') >= tokenMinutes)
  assert.ok(acceptedMinutesOf('task-visitor') >= visitorMinutes)
  const end = new Date(acceptedMinutesOf('vt') * 60_000 + 1_000)
  assert.equal(isTokenValid(new Date(0), end), false)
})
