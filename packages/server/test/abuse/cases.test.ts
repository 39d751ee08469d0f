import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { repositoryRoot } from '../docs/markdown.ts'

const read = (path: string): string => readFileSync(join(repositoryRoot, path), 'utf8')
const page = read('docs/operate/abuse-cases.md')
const folder = 'packages/server/test/abuse'

type Case = { readonly actor: string; readonly file: string; readonly name: string }

/** The rows of the page: the last cell names a test as `file`, “name”. */
const readCases = (text: string): Case[] =>
  text
    .split('\n')
    .filter((line) => /^\| (?!Actor|-)/.test(line))
    .map((line) => {
      const [, actor = '', , , , test = ''] = line.split('|').map((cell) => cell.trim())
      const [, file = '', name = ''] = /^`([^`]+)`, “([^”]+)”$/.exec(test) ?? []
      return { actor, file, name }
    })
const faultsOf = (cases: readonly Case[]): string[] =>
  cases.flatMap(({ actor, file, name }) => {
    if (!existsSync(join(repositoryRoot, file)) || file === '') return [`${actor}: no test file "${file}"`]
    const text = read(file)
    // Attacks on approvals are listed by their ids (docs/evidence/approval-attacks.md).
    const isThere = text.includes(`test('${name}', `) || text.includes(`attack('${name}', `)
    return isThere ? [] : [`${actor}: ${file} has no test "${name}"`]
  })

test('every abuse case names a test that exists, and every actor has one', (t) => {
  const cases = readCases(page)
  t.diagnostic(`${cases.length} cases`)
  assert.ok(cases.length >= 25)
  assert.deepEqual(faultsOf(cases), [])
  for (const actor of ['buyer', 'worker', 'agent', 'partner', 'payer', 'member', 'webhook receiver'])
    assert.ok(
      cases.some((one) => one.actor === actor),
      actor,
    )
})

test('every test file of this folder is in the table', () => {
  const named = new Set(readCases(page).map(({ file }) => file))
  const files = readdirSync(join(repositoryRoot, folder)).map((name) => `${folder}/${name}`)
  assert.deepEqual(
    files.filter((file) => !named.has(file)),
    [`${folder}/cases.test.ts`],
  )
})

const faultsOfCell = (cell: string) => faultsOf(readCases(`| payer | pays less | held | a rule | ${cell} |`))

test('a planted case without a test is found', () => {
  assert.deepEqual(faultsOfCell('tested'), ['payer: no test file ""'])
  assert.deepEqual(faultsOfCell(`\`${folder}/payer.test.ts\`, “nothing”`), [
    `payer: ${folder}/payer.test.ts has no test "nothing"`,
  ])
})
