import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { inTransaction, readNow } from '../../src/platform/db/db.ts'
import { Refusal } from '../../src/platform/http/errors.ts'
import { startHarness } from '../fixtures/harness.ts'

const harness = await startHarness()

test('a connection that dies in use fails its call as overloaded, and neither the process nor the next call', async () => {
  await assert.rejects(
    inTransaction(harness.ctx, 'system', async (tx) => {
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx)
      await harness.owner.query('select pg_terminate_backend($1, 5000)', [rows[0]?.pid])
      await readNow(tx)
    }),
    (error) => error instanceof Refusal && error.code === 'overloaded',
  )
  assert.ok(await inTransaction(harness.ctx, 'system', readNow))
})
