import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { compareGolden, describeDifferences, differencesOf, listGolden, readGolden } from './compare.ts'
import { literalLines } from './literals.ts'
import { storedFaults, storedTests, unknownNames } from './stored.ts'
import { secretPurposes } from '../../../packages/server/src/platform/ops/secret-purposes.ts'
import { findSecretUses, purposesText, readSources, type SourceFile } from './secrets.ts'

const textOf = (name: string): string => {
  const text = readGolden(name)
  assert.ok(text !== undefined, `${name} is not there`)
  return text
}
const sources = readSources()

/** A golden file with one change planted in it. The text that is changed must be there. */
const planted = (name: string, change: readonly [string, string]): string[] => {
  const golden = textOf(name)
  assert.ok(golden.includes(change[0]), `${name} does not hold ${change[0]}`)
  const found = compareGolden(new Map([[name, golden]]), new Map([[name, golden.replace(...change)]]))
  return found.get(name) ?? []
}

/** Lines of each file: a file that lost most of its content proves nothing. */
const leastLines: Readonly<Record<string, number>> = {
  'claims.json': 400,
  'cli.md': 700,
  'conformance.tsv': 495,
  'derived.tsv': 35,
  'errors.tsv': 45,
  'events.json': 1_200,
  'ids.tsv': 30,
  'jobs.tsv': 30,
  'literals.tsv': 120,
  'manifest.json': 180,
  'mcp.json': 230,
  'metrics.tsv': 7,
  'openapi.json': 20_000,
  'operator-api.json': 3_000,
  'purposes.tsv': 17,
  'routes.tsv': 140,
  'rows.tsv': 130,
  'schema.txt': 2_000,
  'sdk.tsv': 90,
  'settings.tsv': 45,
  'stored.tsv': 280,
}

test('every golden file is there, and each holds as much as it should', () => {
  assert.deepEqual(listGolden(), Object.keys(leastLines).toSorted())
  for (const [name, least] of Object.entries(leastLines)) {
    const count = textOf(name).split('\n').length - 1
    assert.ok(count >= least, `${name} has ${count} lines, at least ${least} expected`)
  }
})

test('the golden run of the conformance suite failed nothing and passed at least 488 statements', () => {
  const states = textOf('conformance.tsv')
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t')[1])
  assert.ok(states.filter((state) => state === 'passed').length >= 488)
  assert.deepEqual(new Set(states), new Set(['passed', 'skipped']))
})

test('a file that is unchanged has no difference', () => {
  for (const name of listGolden()) assert.deepEqual(differencesOf(name, textOf(name), textOf(name)), [])
})

/** One planted change of each kind, and what the comparison must say about it. */
const changes: readonly (readonly [string, string, string, RegExp])[] = [
  [
    'openapi.json',
    '"operationId": "work.task-buy"',
    '"operationId": "purchases.buy"',
    /^- .*"work\.task-buy"$/,
  ],
  ['openapi.json', '"operationId": "agents.register",', '', /^- .*operationId = "agents\.register"$/],
  ['openapi.json', '"webhooks"', '"delivery"', /^- .*tags > 0 = "webhooks"$/],
  [
    'operator-api.json',
    '"POST /operator/work/produce"',
    '"POST /operator/produce"',
    /^- POST .*work\/produce/,
  ],
  ['manifest.json', '"work.order-fund"', '"work.orders.fund"', /^- endpoints > work\.order-fund = /],
  ['mcp.json', '"workflowId"', '"workflow"', /^- .*workflowId/],
  ['events.json', '"credentialId"', '"credential"', /^- .*credentialId/],
  ['events.json', '"purchase.settled"', '"purchase.paid"', /^- events > purchase\.settled/],
  ['claims.json', '^psu_', '^sub_', /^- credential > .*sub > pattern = "\^psu_/],
  [
    'settings.tsv',
    'KEY_LIMIT_PER_MINUTE\t6000',
    'KEY_LIMIT_PER_MINUTE\t600',
    /^- KEY_LIMIT_PER_MINUTE\t6000/,
  ],
  ['settings.tsv', 'BASE_URL\t', 'PUBLIC_URL\t', /^- BASE_URL\t/],
  ['metrics.tsv', 'endpoint status', 'route status', /^- pohf_http_request_seconds/],
  ['rows.tsv', '\twork.order-cancel\t', '\twork.orders.cancel\t', /^- .*work\.order-cancel/],
  ['routes.tsv', '/me/recording', '/member/recording', /^- api\t\/me\/recording/],
  ['sdk.tsv', 'client.work.taskBuy', 'client.purchases.buy', /^- client\.work\.taskBuy/],
  ['cli.md', '--resume <purchaseId>', '--continue <purchaseId>', /^- .*--resume/],
  ['schema.txt', 'orders | 1 | agent_id', 'orders | 1 | owner_id', /^- orders \| 1 \| agent_id/],
  ['errors.tsv', 'out_of_stock\t409', 'out_of_stock\t410', /^- out_of_stock\t409/],
  ['ids.tsv', 'id\tpur_\tlong', 'id\tbuy_\tlong', /^- id\tpur_/],
  ['jobs.tsv', 'outbox topic\tmail', 'outbox topic\tletter', /^- outbox topic\tmail/],
  ['literals.tsv', 'card_spare', 'card_refundable', /^- advisory lock\tcard_spare/],
  ['purposes.tsv', 'pairwise', 'subject', /^- pairwise/],
  ['derived.tsv', 'psu_', 'sub_', /^- pairwise subject\tpsu_/],
  ['conformance.tsv', '\tpassed', '\tskipped', /^- .*\tpassed$/],
]
for (const [name, before, after, expected] of changes)
  test(`${name}: the change of ${JSON.stringify(before)} is named`, () => {
    const found = planted(name, [before, after])
    assert.ok(found.length > 0)
    assert.ok(
      found.some((line) => expected.test(line)),
      found.slice(0, 5).join('\n'),
    )
  })

test('a new line, a line that is gone, and another order are differences', () => {
  assert.deepEqual(differencesOf('a.tsv', 'a\nb\n', 'a\nb\nc\n'), ['+ c'])
  assert.deepEqual(differencesOf('a.tsv', 'a\nb\nb\n', 'a\nb\n'), ['- b'])
  assert.deepEqual(differencesOf('a.tsv', 'a\nb\n', 'b\na\n'), ['the order of the lines changed'])
  assert.deepEqual(differencesOf('a.json', '{"a":[1],"b":{}}', '{"a":[2],"b":{}}'), [
    '- a > 0 = 1',
    '+ a > 0 = 2',
  ])
})

test('a file on one side only is a difference, and the message names it', () => {
  const found = compareGolden(new Map([['gone.tsv', 'a\n']]), new Map([['new.tsv', 'a\n']]))
  assert.deepEqual([...found.keys()].toSorted(), ['gone.tsv', 'new.tsv'])
  assert.match(describeDifferences(found), /gone\.tsv\n.*nothing makes/)
})

test('every use of the master secret is found, those by a constant and those for callers too', () => {
  const uses = findSecretUses(sources)
  assert.ok(sources.length >= 600, `${sources.length} files`)
  assert.ok(uses.length >= 37, `${uses.length} uses`)
  const purposes = [...new Set(uses.map(({ purpose }) => purpose))].toSorted()
  // The purpose 'caller' seals with an API key, not with the master key.
  assert.deepEqual(purposes, [...Object.keys(secretPurposes), 'caller'].toSorted())
  assert.ok(uses.some(({ how, purpose }) => how === 'seal' && purpose === 'session-key'))
  assert.ok(uses.some(({ how, purpose }) => how === 'deriveKey' && purpose === 'caller'))
  // The plainest count that there is: no call is left out.
  const calls = sources.flatMap(({ text }) => [...text.matchAll(/\.(?:derive|seal)\(/g)])
  assert.equal(calls.length, uses.filter(({ how }) => how === 'derive' || how === 'seal').length)
})

const file = (text: string): SourceFile => ({ path: 'planted.ts', text })

test('a changed purpose, in the call or in its constant, changes the list', () => {
  const secrets = { derive: (purpose: string) => Buffer.from(purpose) }
  const listOf = (text: string) => purposesText(findSecretUses([file(text)]), secrets)
  const before = listOf("ctx.secrets.derive('pairwise')")
  assert.notEqual(listOf("ctx.secrets.derive('subject')"), before)
  assert.equal(listOf("const purpose = 'pairwise'\nsecrets.derive(purpose)"), before)
  assert.notEqual(listOf("const purpose = 'subject'\nsecrets.derive(purpose)"), before)
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

test('a stored word that changes is seen, and a pattern that sees too little says so', () => {
  const before = literalLines(sources)
  assert.ok(before.length >= 90, `${before.length} words`)
  const renamed = sources.map(({ path, text }) => ({
    path,
    text: text.replaceAll('stars_vested', 'stars_ripe'),
  }))
  const found = differencesOf('literals.tsv', before.join('\n'), literalLines(renamed).join('\n'))
  assert.deepEqual(found, ['- ledger kind\tstars_vested', '+ ledger kind\tstars_ripe'])
  assert.throws(() => literalLines([file('')]), /at least \d+ expected/)
  const moved = sources.map(({ path, text }) => ({ path: `moved/${path}`, text }))
  assert.deepEqual(literalLines(moved), before)
})

test('every metric that the sources make is in the golden file', () => {
  const made = sources
    .filter(({ path }) => path.startsWith('server/'))
    .flatMap(({ text }) => [...text.matchAll(/new (?:Counter|Gauge|Histogram|Summary)\(/g)])
  assert.equal(made.length, textOf('metrics.tsv').trimEnd().split('\n').length)
})

test('a renamed key of a stored document and a renamed stored word are seen; one that is missing is no fault', () => {
  const golden = textOf('stored.tsv')
  const names = golden.trimEnd().split('\n')
  assert.deepEqual(unknownNames(golden, names), [])
  assert.deepEqual(unknownNames(golden, names.slice(10)), [])
  const renamed = names.map((name) =>
    name
      .replace('orders.terms > goldAnswer', 'orders.terms > knownAnswer')
      .replace('= order_stop', '= order_end'),
  )
  assert.deepEqual(unknownNames(golden, renamed), [
    'ledger_entries.kind = order_end',
    'orders.terms > knownAnswer',
  ])
})

test('a listed test that left no names is a fault: then nothing was compared', () => {
  const folder = mkdtempSync(join(tmpdir(), 'pohf-stored-test-'))
  try {
    const faults = storedFaults(folder, storedTests)
    assert.equal(faults.length, storedTests.length)
    assert.deepEqual(storedFaults(folder, ['packages/sdk/test/client.test.ts']), [])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
