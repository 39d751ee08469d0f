import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runRestore } from './battery.ts'

test('a restore to a point in time: minting stops by itself, and the runbook takes nothing back', async () => {
  const { figures, faults } = await runRestore({
    seed: 1,
    before: 8,
    lost: 8,
    after: 8,
    purchases: 2,
    clients: 4,
    journal: 'kept',
  })
  assert.deepEqual(faults, [])
  assert.equal(figures['recorded'], 10)
})
