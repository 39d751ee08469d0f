import assert from 'node:assert/strict'
import { test } from 'node:test'
import { reportFaults, surveyErrors, unusedExceptions, type ErrorRule } from './error-rules.ts'
import { readSources } from './import-rules.ts'

test('internal errors name what they are about, and log calls have constant messages and fields', (t) => {
  const survey = surveyErrors(readSources())
  t.diagnostic(`saw ${survey.errors} internal errors and ${survey.logCalls} log calls`)
  assert.ok(survey.errors >= 100, `saw only ${survey.errors} internal errors`)
  assert.ok(survey.logCalls >= 40, `saw only ${survey.logCalls} log calls`)
  assert.deepEqual(reportFaults(survey.faults), [])
  assert.deepEqual(unusedExceptions(survey.faults), [])
})

/** Sources with one violation each, and beside them similar sources without one. */
const planted: readonly {
  readonly name: string
  readonly text: string
  readonly rules: readonly ErrorRule[]
}[] = [
  {
    name: 'a constant message though an id is a parameter',
    text: "const f = (orderId: string) => { throw new Error('order not found') }",
    rules: ['constant'],
  },
  {
    name: 'a constant message in a rejected promise',
    text: "const f = () => Promise.reject(new TypeError('it failed'))",
    rules: ['constant'],
  },
  {
    name: 'a message that is one of two constants',
    text: "const f = (isNew: boolean) => new Error(isNew ? 'not ' + 'stored' : `not found`)",
    rules: ['constant'],
  },
  { name: 'an error without a message', text: 'const f = () => { throw new Error() }', rules: ['constant'] },
  {
    name: 'a constant message of an error class of our own',
    text: "class LedgerError extends Error {}\nconst f = () => new LedgerError('unbalanced')",
    rules: ['constant'],
  },
  {
    name: 'a constant message that a class passes to Error',
    text: "class EntryError extends Error { constructor(entryId: string) { super('unbalanced') } }",
    rules: ['constant'],
  },
  {
    name: 'a message without the id of a parameter',
    text: 'const f = (orderId: string, state: string) => new Error(`order is ${state}`)',
    rules: ['id'],
  },
  {
    name: 'a message without the id of a destructured variable around a callback',
    text: 'const f = (order: O) => { const { orderId } = order; return () => new Error(`state ${order.state}`) }',
    rules: ['id'],
  },
  {
    name: 'a caught error that is dropped',
    text: 'const f = (id: string) => { try { g() } catch (error) { throw new Error(`job ${id} failed`) } }',
    rules: ['cause'],
  },
  {
    name: 'a caught error that has no name',
    text: 'const f = (id: string) => { try { g() } catch { throw new Error(`job ${id} failed`) } }',
    rules: ['cause'],
  },
  {
    name: 'a rejection that is dropped',
    text: 'const f = (id: string) => g().catch((error) => { throw new Error(`job ${id} failed: ${error}`) })',
    rules: ['cause'],
  },
  {
    name: 'a row that is required without saying which',
    text: "const f = (tx: Tx, id: string) => tx.selectFrom('t').where('id', '=', id).executeTakeFirstOrThrow()",
    rules: ['row'],
  },
  {
    name: 'a variable in the message of a log call',
    text: 'const f = (ctx: Ctx, id: string) => ctx.log.info({ id }, `job ${id} failed`)',
    rules: ['message'],
  },
  {
    name: 'a log call that passes a text on',
    text: 'const f = (log: Logger, warning: string) => log.info(warning)',
    rules: ['message'],
  },
  {
    name: 'a warning without fields',
    text: "const f = (log: Logger) => log.warn('it failed')",
    rules: ['fields'],
  },
  {
    name: 'an error with empty fields',
    text: "const f = (deps: Deps) => deps.ctx.log.error({}, 'it failed')",
    rules: ['fields'],
  },
]

const accepted: readonly string[] = [
  'const f = (orderId: string) => new Error(`order ${orderId} not found`)',
  'const f = (order: O) => new Error(`order ${order.orderId} not found while settling it`)',
  'const f = (purpose: string) => { const key = find(purpose); if (!key) throw new Error(`no ${purpose} key`) }',
  'const f = (privateKey: K, curve: string) => new Error(`key of curve ${curve} has no x`)',
  "const f = (config: C) => new Error('BASE_URL and PORT exclude each other')",
  'const f = (id: string) => { try { g() } catch (cause) { throw new Error(`job ${id} failed`, { cause }) } }',
  "class Refusal extends Error {}\nconst f = () => { try { g() } catch { throw new Refusal('overloaded') } }",
  "const f = (tx: Tx) => tx.selectFrom('t').select(({ fn }) => fn.countAll()).executeTakeFirstOrThrow()",
  "const f = (log: Logger, job: string) => log.warn({ job }, 'job failed')",
  "const f = (log: Logger) => log.info('worker started')",
  'const f = (catalog: Catalog, name: string) => catalog.error(name)',
]

test('every rule sees a planted violation, and nothing where there is none', () => {
  const violations = planted.map(({ text }, index) => ({ path: `planted/${index}.ts`, text }))
  const { faults } = surveyErrors(violations)
  const rulesSeen = violations.map(({ path }) =>
    faults.filter((fault) => fault.path === path).map(({ rule }) => rule),
  )
  assert.deepEqual(
    planted.map(({ name }, index) => [name, rulesSeen[index]]),
    planted.map(({ name, rules }) => [name, rules]),
  )
  assert.equal(reportFaults(faults).length, planted.length)
  assert.deepEqual(
    surveyErrors(accepted.map((text, index) => ({ path: `accepted/${index}.ts`, text }))).faults,
    [],
  )
})
