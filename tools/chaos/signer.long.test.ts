import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { answersBetweenKills, runSignerKills } from './signer.ts'

// `npm run battery -- signer` kills it 50 times.
test('2 kills of the signer under load: all that was answered is stored, all that is stored is journaled', async () => {
  const findings = await runSignerKills({ kills: 2, clients: 6 })
  assert.deepEqual(findings.faults, [])
  assert.ok(findings.killsDuringCalls > 0, JSON.stringify(findings))
  assert.ok(findings.answered >= 2 * answersBetweenKills, JSON.stringify(findings))
})

// A signer that journals late is no fault for this battery: the service compares batches, and stops minting by itself.
test('a signer whose journal names other credentials than it signed is found', async () => {
  const signer = fileURLToPath(
    new URL('../../packages/server/test/fixtures/processes/wrong-journal-signer.ts', import.meta.url),
  )
  const { faults } = await runSignerKills({ kills: 1, clients: 6, signer: [signer] })
  assert.ok(
    faults.some((fault) => fault.endsWith('not_journaled')),
    JSON.stringify(faults),
  )
})
