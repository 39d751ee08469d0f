import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/fixtures/harness.ts'
import { makeAccount, openConsole } from '../../test/fixtures/people/console.ts'

const harness = await startHarness()

test('a sign-out clears no API key from the cache, and a sign-out without a session clears no bearer', async () => {
  const { owner } = await makeAccount(harness)
  const leaving = [await makeAccount(harness), await makeAccount(harness), await makeAccount(harness)]
  const { apiKey } = await harness.register('test')
  const bearer = await owner.bearer('test')
  const statementsOf = async (key: string) => {
    const before = harness.ctx.db.statements()
    assert.equal((await harness.call('GET', '/api/agents/me', { key })).status, 200)
    return harness.ctx.db.statements() - before
  }
  // The least of several: other work of the process may come between.
  const after = async (rounds: number, key: string, work: () => Promise<unknown>) => {
    const counts: number[] = []
    for (let round = 0; round < rounds; round++) {
      await statementsOf(key)
      await work()
      counts.push(await statementsOf(key))
    }
    return Math.min(...counts)
  }
  for (const key of [apiKey, bearer]) {
    const cached = await after(5, key, () => Promise.resolve())
    assert.equal(await after(5, key, () => openConsole(harness).post('sign-out')), cached)
  }
  const cached = await after(5, apiKey, () => Promise.resolve())
  const signOut = async () => leaving.pop()?.owner.post('sign-out')
  assert.equal(await after(leaving.length, apiKey, signOut), cached)
})
