import assert from 'node:assert/strict'
import { test } from 'node:test'
import { affectedTests, readSourcesOf, unitOf } from './affected-tests.ts'
import { hashFiles } from './kept-results.ts'
import { listTestFiles } from './test-files.ts'

const server = 'packages/server/src'
const sources = [
  { path: `${server}/credits/charge.ts`, text: "import { post } from '../ledger/index.ts'" },
  { path: `${server}/credentials/mint.ts`, text: "import { charge } from '../credits/index.ts'" },
  { path: `${server}/wiring/app.ts`, text: "import '../ledger/index.ts'\nimport '../webhooks/index.ts'" },
  { path: 'packages/verify/src/price.ts', text: '' },
  { path: 'packages/sdk/src/buy.ts', text: "import { price } from '@pohf/verify'" },
  {
    path: 'packages/server/test/abuse/payer.test.ts',
    text: "import { settle } from '../../src/ledger/settle.ts'",
  },
]
const tests = [
  `${server}/ledger/post.test.ts`,
  `${server}/ledger/post.long.test.ts`,
  `${server}/credits/charge.test.ts`,
  `${server}/credentials/mint.test.ts`,
  `${server}/webhooks/deliver.test.ts`,
  'packages/verify/test/price.test.ts',
  'packages/sdk/test/buy.test.ts',
  'packages/server/test/abuse/payer.test.ts',
  'packages/server/test/architecture/endpoints.test.ts',
]

test('a change of a module runs its tests, then those of what builds on it, and never long ones', () => {
  const { own, dependent } = affectedTests([`${server}/ledger/settle.ts`], sources, tests)
  assert.deepEqual(own, [
    'packages/server/test/abuse/payer.test.ts',
    `${server}/ledger/post.test.ts`,
    'packages/server/test/architecture/endpoints.test.ts',
  ])
  assert.deepEqual(dependent, [`${server}/credits/charge.test.ts`, `${server}/credentials/mint.test.ts`])
})

test('a change of a package runs the tests of the packages that import it', () => {
  const { own, dependent } = affectedTests(['packages/verify/src/price.ts'], sources, tests)
  assert.deepEqual(
    [own, dependent],
    [['packages/verify/test/price.test.ts'], ['packages/sdk/test/buy.test.ts']],
  )
})

test('a changed test runs alone, and a document runs none', () => {
  const changed = ['packages/server/test/abuse/payer.test.ts', 'docs/limits.md']
  assert.deepEqual(affectedTests(changed, sources, tests), {
    own: ['packages/server/test/abuse/payer.test.ts'],
    dependent: [],
  })
})

test('in this repository a change of the approvals runs their tests, and one of the ledger those of the credits', () => {
  const all = readSourcesOf([...hashFiles().keys()])
  const found = (path: string) => affectedTests([path], all, listTestFiles())
  const approvals = found(`${server}/approvals/routes.ts`)
  assert.ok(approvals.own.some((path) => unitOf(path) === `${server}/approvals`))
  assert.ok(found(`${server}/ledger/store.ts`).dependent.some((path) => unitOf(path) === `${server}/credits`))
})
