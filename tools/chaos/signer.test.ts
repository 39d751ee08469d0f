import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { runSignerKills } from './signer.ts'

test('10 kills of the signer under load: all that was answered is stored, all that is stored is journaled', async () => {
  const findings = await runSignerKills({ kills: 10, clients: 6 })
  assert.deepEqual(findings.faults, [])
  assert.ok(findings.killsDuringCalls > 0 && findings.answered > 50, JSON.stringify(findings))
})

test('a signer that journals after it has signed is found out', async () => {
  const forgetful = fileURLToPath(
    new URL('../../packages/server/test/fixtures/processes/late-journal-signer.ts', import.meta.url),
  )
  const { faults } = await runSignerKills({ kills: 5, clients: 6, signer: [forgetful] })
  assert.ok(faults.some((fault) => fault.endsWith('not_journaled')))
})
