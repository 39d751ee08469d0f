import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { attacks } from './attacks.ts'

const root = new URL('../../../../', import.meta.url).pathname

/** The ids of the attacks that a file of tests makes, in calls and in rows of cases. */
const madeIn = (file: string): string[] =>
  [...readFileSync(`${root}${file}`, 'utf8').matchAll(/\battack(?:\(\s*|: )'([\w-]+)'/g)].map(
    ([, id = '']) => id,
  )

test('at least 40 attacks are listed, each once, with a rule', () => {
  assert.ok(attacks.length >= 40, `${attacks.length} attacks`)
  assert.equal(new Set(attacks.map(({ id }) => id)).size, attacks.length)
  for (const { id, attack, gain, rule } of attacks) assert.ok(attack && gain && rule, id)
})

test('each listed attack has one test in its file, and each test of an attack is listed', () => {
  const files = globSync('packages/*/{src,test}/**/*.test.ts', { cwd: root }).filter((file) =>
    readFileSync(`${root}${file}`, 'utf8').includes('attacksIn('),
  )
  const made = files
    .filter((file) => !file.endsWith('approvals/attacks.test.ts') || file.includes('server'))
    .flatMap((file) => madeIn(file).map((id) => `${file} ${id}`))
  assert.ok(made.length >= 40, `${made.length} tests of attacks`)
  assert.deepEqual(made.toSorted(), attacks.map(({ file, id }) => `${file} ${id}`).toSorted())
})
