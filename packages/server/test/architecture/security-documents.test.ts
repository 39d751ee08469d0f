import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  deploymentParts,
  faultsOfAsvs,
  faultsOfThreats,
  missingParts,
  parseCsv,
  readAsvs,
  readRequiredLevels,
  readThreats,
  testsOf,
} from './security-documents.ts'

const rows = readAsvs()
const threats = readThreats()

test('asvs.csv answers every required requirement by a test that exists or by a reason', (t) => {
  const count = (status: string) => rows.filter((row) => row.status === status).length
  t.diagnostic(
    `${rows.length} requirements: ${count('test')} with a test, ${count('reason')} with a reason, ${count('not met')} not met, ${count('not applicable')} not applicable`,
  )
  assert.equal(readRequiredLevels().size, 270)
  assert.deepEqual(faultsOfAsvs(rows), [])
  assert.ok(count('test') >= 100)
})

test('a planted missing requirement, missing test and business logic without a test are found', () => {
  const [first, ...others] = rows
  assert.ok(first)
  assert.deepEqual(faultsOfAsvs(others), [`${first.id} is missing`])
  assert.deepEqual(faultsOfAsvs([...rows, first]), [`${first.id} is there twice`])
  const change = (id: string, changes: Partial<typeof first>) =>
    faultsOfAsvs(rows.map((row) => (row.id === id ? { ...row, ...changes } : row)))
  const file = 'packages/server/test/http/limits.test.ts'
  assert.deepEqual(change('V2.4.1', { file, test: 'no such test' }), [
    `V2.4.1: ${file} has no test "no such test"`,
  ])
  assert.deepEqual(change('V2.4.1', { file: 'packages/gone.test.ts' }), [
    'V2.4.1: no test file packages/gone.test.ts',
  ])
  assert.deepEqual(change('V2.4.1', { status: 'reason', file: '', test: '', reason: 'because' }), [
    'V2.4.1 is business logic and names no test',
  ])
  assert.deepEqual(change('V9.2.3', { level: '1', status: 'met' }), [
    'V9.2.3 has level 2, not 1',
    'V9.2.3 has the unknown status "met"',
  ])
  assert.deepEqual(parseCsv('a,"b, ""c""",\n'), [['a', 'b, "c"', '']])
})

test('every row of the threat model names tests that exist, or says that there is none', (t) => {
  const tests = threats.flatMap(testsOf)
  t.diagnostic(`${threats.length} rows, ${tests.length} tests`)
  assert.ok(threats.length >= 60 && tests.length >= 50)
  assert.deepEqual(faultsOfThreats(threats), [])
})

test('a planted row without a test, and one with a test that does not exist, are found', () => {
  const head =
    '## Payer\n\n| Goal | Way | What must hold | What stops it | Test |\n| --- | --- | --- | --- | --- |\n'
  const faults = (cell: string) =>
    faultsOfThreats(readThreats(`${head}| pay less | lie | no | rule | ${cell} |\n`))
  assert.deepEqual(faults('None yet'), [])
  assert.deepEqual(faults('tested'), ['Payer: "pay less" names no test'])
  assert.deepEqual(faults('`packages/server/test/http/limits.test.ts`, “nothing”'), [
    'packages/server/test/http/limits.test.ts has no test "nothing"',
  ])
})

test('operations.md names every role, file and secret of a deployment', (t) => {
  t.diagnostic(deploymentParts().join(', '))
  assert.ok(deploymentParts().length >= 15)
  assert.deepEqual(missingParts(), [])
  const planted = '## Database\n\n`pohf_app` only\n\n## Start\n\n`pohf_mint` too late\n'
  assert.deepEqual(missingParts(planted).slice(0, 1), ['pohf_mint'])
})
