import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runFaults } from './battery.ts'

/**
 * One fault and one stop, to see that the battery works. database-faults.long.test.ts and stop.test.ts show stranded connections, a
 * read-only database and a stop under load, each in a case of its own; `npm run battery -- faults` runs all faults.
 */
test('verify survives stranded connections and a stop under load', async () => {
  const results = await runFaults({
    only: ['stranded', 'sigterm'],
    seconds: 3,
    clients: 8,
    seed: 7,
    stops: 1,
    rounds: 0,
    // A key that a dead call has claimed is free after a minute: the long form waits for it.
    claimedKeySeconds: 2,
    sessions: 8_000,
    // CI shares its machine with other tests. The long form has the bounds that are promised.
    slack: 4,
    keep: false,
  })
  assert.deepEqual(
    results.map(({ name, reasons }) => ({ name, reasons })),
    ['stranded', 'sigterm'].map((name) => ({ name, reasons: [] })),
    JSON.stringify(results, undefined, 2),
  )
})
