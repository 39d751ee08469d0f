import assert from 'node:assert/strict'
import { test } from 'node:test'
import { faultsOf, runProcessKills } from '../processes.ts'

test('a database that acknowledges before it has written to disk is found out: acknowledged credentials are lost', async () => {
  const findings = await runProcessKills({
    seconds: 15,
    clients: 6,
    seed: 7,
    targets: ['postgres'],
    // The planted fault. The server refuses such a database at its start; here it is turned off behind its back.
    settings: { wal_writer_delay: '10s' },
    plantedFaultSql:
      'alter database pohf set synchronous_commit = off; alter role pohf_app set synchronous_commit = off',
  })
  assert.ok(findings.acknowledged > 0, JSON.stringify(findings))
  assert.ok(findings.lost > 0 && faultsOf(findings).length > 0, JSON.stringify(findings))
})
