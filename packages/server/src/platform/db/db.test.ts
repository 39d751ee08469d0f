import assert from 'node:assert/strict'
import type { EventEmitter } from 'node:events'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { sql } from 'kysely'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { Refusal } from '../http/errors.ts'
import { inReservedTransaction, inLongTransaction, inSingleStatement, inTransaction, type Tx } from './db.ts'

// The pool hands out the connection that was used last, so a test sees whether it is used again.
const { ctx } = await startHarness({
  DATABASE_POOL_SIZE: '2',
  DATABASE_WAIT_SECONDS: '1',
  DATABASE_STATEMENT_SECONDS: '1',
})

const raise = (tx: Tx, state: string) =>
  sql.raw(`do $$ begin raise exception 'planted' using errcode = '${state}'; end $$`).execute(tx)
/** Takes longer than a statement may take here. */
const sleep = (tx: Tx) => sql`select pg_sleep(1.2)`.execute(tx)
const backendOf = async (tx: Tx): Promise<number> => {
  const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx)
  return rows[0]?.pid ?? 0
}
const isOverloaded = (error: unknown): boolean =>
  error instanceof Refusal && error.code === 'overloaded' && error.options.headers?.['retry-after'] === '2'

/** Whether the connection on which this work ran is used again. */
const keepsConnection = async (work: (tx: Tx) => Promise<unknown>): Promise<boolean> => {
  let pid = 0
  await assert.rejects(
    inTransaction(ctx, 'system', async (tx) => {
      pid = await backendOf(tx)
      await work(tx)
    }),
  )
  return (await inTransaction(ctx, 'system', backendOf)) === pid
}

test('errors that say nothing about the request are 503 overloaded, whoever wraps them', async () => {
  const states = [
    '25006',
    '25P03',
    '55000',
    '57P01',
    '57P03',
    '57014',
    '08006',
    '53100',
    '53200',
    '53300',
    '55P03',
    '58030',
  ]
  for (const state of [...states, '40001', '40P01']) {
    await assert.rejects(
      inTransaction(ctx, 'system', (tx) => raise(tx, state)),
      isOverloaded,
      state,
    )
    await assert.rejects(
      inSingleStatement(ctx, (tx) => raise(tx, state)),
      isOverloaded,
      state,
    )
  }
  const wrapped = inTransaction(ctx, 'system', (tx) =>
    raise(tx, '53100').catch((error: unknown) => {
      throw new Error('minting failed', { cause: error })
    }),
  )
  await assert.rejects(wrapped, isOverloaded)
})

test('errors of the request and of the program stay what they are', async () => {
  for (const state of ['23505', '22P02', '42601', 'P0001', '25P02'])
    await assert.rejects(
      inTransaction(ctx, 'system', (tx) => raise(tx, state)),
      { code: state },
    )
  await assert.rejects(
    inTransaction(ctx, 'system', () => Promise.reject(new Refusal('not_found'))),
    (error) => error instanceof Refusal && error.code === 'not_found',
  )
})

test('a connection that met a read-only or ending server, or a timeout, is closed; after other errors it is kept', async () => {
  for (const state of ['25006', '25P03', '55000', '57P01', '57014', '08006'])
    assert.equal(await keepsConnection((tx) => raise(tx, state)), false, state)
  for (const state of ['23505', '53100', '55P03', '40001'])
    assert.equal(await keepsConnection((tx) => raise(tx, state)), true, state)
  const isReadOnly = keepsConnection(async (tx) => {
    await sql`set transaction read only`.execute(tx)
    await sql`delete from mail_counts`.execute(tx)
  })
  assert.equal(await isReadOnly, false)
})

test('a transaction that the server ended while it was idle is 503', async () => {
  const idle = inTransaction(ctx, 'system', async (tx) => {
    await sql`set local idle_in_transaction_session_timeout = 50`.execute(tx)
    await setTimeout(200)
    await backendOf(tx)
  })
  await assert.rejects(idle, isOverloaded)
  assert.ok((await inTransaction(ctx, 'system', backendOf)) > 0)
})

test('a connection that is lost between the pool and its first statement is 503, before its socket is closed', async () => {
  for (const run of [inTransaction, inLongTransaction] as const) {
    await inTransaction(ctx, 'system', backendOf)
    ctx.db.pool.once('acquire', (client) => {
      const { connection } = client as unknown as { readonly connection: EventEmitter }
      // The last message of a server that ends, while the pool no longer listens; the end of the connection follows later.
      queueMicrotask(() => connection.emit('errorMessage', new Error('terminating connection')))
    })
    await assert.rejects(run(ctx, 'system', backendOf), isOverloaded)
    assert.ok((await inTransaction(ctx, 'system', backendOf)) > 0)
  }
})

test('a full pool is 503 after the wait', async () => {
  const release = Promise.withResolvers<void>()
  const holders = [1, 2].map(() => inTransaction(ctx, 'system', () => release.promise))
  await assert.rejects(inTransaction(ctx, 'system', backendOf), isOverloaded)
  release.resolve()
  await Promise.all(holders)
})

test('reserved connections are free when the pool is full, and count as opened', async () => {
  // Closes the one that may be open.
  await assert.rejects(
    inReservedTransaction(ctx, (tx) => raise(tx, '57P01')),
    isOverloaded,
  )
  const changesBefore = ctx.db.connectionChanges()
  const release = Promise.withResolvers<void>()
  const holders = [1, 2].map(() => inTransaction(ctx, 'system', () => release.promise))
  const pid = await inReservedTransaction(ctx, backendOf)
  assert.ok(pid > 0)
  // The guard after a restore compares again where a new connection may lead to another database.
  assert.ok(ctx.db.connectionChanges() > changesBefore)
  release.resolve()
  await Promise.all(holders)
})

test('the server stops a statement at its limit; in a long transaction it may take longer', async () => {
  await assert.rejects(inTransaction(ctx, 'system', sleep), isOverloaded)
  await inLongTransaction(ctx, 'system', sleep)
  // The longer limit ends with its transaction.
  await assert.rejects(inTransaction(ctx, 'system', sleep), isOverloaded)
})

test('every connection has keepalive on both sides', async () => {
  const { rows } = await inTransaction(ctx, 'system', (tx) =>
    sql<{
      idle: string
      count: string
    }>`select current_setting('tcp_keepalives_idle') as idle, current_setting('tcp_keepalives_count') as count`.execute(
      tx,
    ),
  )
  assert.deepEqual(rows, [{ idle: '10', count: '3' }])
  const { keepAlive } = ctx.db.pool.options as { keepAlive?: boolean }
  assert.equal(keepAlive, true)
})
