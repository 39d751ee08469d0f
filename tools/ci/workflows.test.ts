import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { test } from 'node:test'

const folder = new URL('../../.github/workflows/', import.meta.url)

/** Rules for workflows: actions by full commit hash with their version, no credentials left in the checkout, few rights. */
const faultsOf = (text: string): string[] => {
  const actions = [...text.matchAll(/uses: (.+)/g)].map(([, action = '']) => action)
  const rights = [...text.matchAll(/^ *([\w-]+): write$/gm)].map(([, right = '']) => right)
  return [
    ...actions.filter((action) => !/^[\w./-]+@[0-9a-f]{40} # v\d+(?:\.\d+)*$/.test(action)),
    ...(actions.some((action) => action.startsWith('actions/checkout@')) &&
    !text.includes('persist-credentials: false')
      ? ['the checkout keeps its credentials']
      : []),
    ...(/^permissions:(?: \{\}|\n {2}contents: read)$/m.test(text)
      ? []
      : ['the workflow has no permissions']),
    ...rights.filter((right) => right !== 'security-events'),
    ...(text.includes('pull_request_target') ? ['pull_request_target'] : []),
  ]
}

test('workflows pin every action by its commit and have no more rights than they need', (t) => {
  const files = readdirSync(folder)
  const texts = files.map((file) => readFileSync(new URL(file, folder), 'utf8'))
  t.diagnostic(`saw ${texts.join().split('uses: ').length - 1} actions`)
  assert.ok(texts.join().split('uses: ').length - 1 >= 8)
  for (const text of texts) assert.deepEqual(faultsOf(text), [])
})

test('a planted tag instead of a commit, kept credentials and a right to write are found', () => {
  const planted = `on: pull_request_target
permissions:
  contents: write
jobs:
  check:
    steps:
      - uses: actions/checkout@v6
`
  assert.deepEqual(faultsOf(planted), [
    'actions/checkout@v6',
    'the checkout keeps its credentials',
    'the workflow has no permissions',
    'contents',
    'pull_request_target',
  ])
})
