import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import { attacks, type AttackId } from './attacks.ts'

/** Asserts that the rule of an answer is the listed one. */
export type Refused = (rule: string | undefined) => void

/**
 * The function by which one file of tests makes its attacks. A test fails where it compares no rule with the listed one, and the
 * file fails where it leaves out an attack that is listed for it.
 */
export const attacksIn = (url: string) => {
  const own = attacks.filter(({ file }) => url.endsWith(`/${file}`))
  const made = new Set<string>()
  after(() => {
    const missing = own.filter(({ id }) => !made.has(id)).map(({ id }) => id)
    assert.deepEqual(missing, [], `attacks that are listed for ${url} and have no test`)
  })
  return (id: AttackId, run: (refused: Refused, t: TestContext) => Promise<void>): void => {
    const attack = own.find((one) => one.id === id)
    if (!attack) throw new Error(`attack ${id} is not listed for ${url}`)
    if (made.has(id)) throw new Error(`attack ${id} has two tests`)
    made.add(id)
    void test(`attack ${id}: ${attack.attack}`, { timeout: 120_000 }, async (t) => {
      let compared = 0
      await run((rule) => {
        assert.equal(rule, attack.rule)
        compared += 1
      }, t)
      assert.ok(compared > 0, `the test of attack ${id} compares no rule`)
    })
  }
}
