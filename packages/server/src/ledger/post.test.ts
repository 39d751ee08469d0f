import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { readSources } from '../../test/architecture/import-rules.ts'
import { startHarness } from '../../test/fixtures/harness.ts'
import { inTransaction, type Tx } from '../platform/db/db.ts'
import { balanceAfter, balanceOf, findPosting, InsufficientBalance, post } from './index.ts'
import type { Entry, Line } from './rules.ts'

const harness = await startHarness()
const { agentId } = await harness.register('live')
const other = await harness.register('live')

const credit = (account: string, amount: bigint): Line => ({ account, unit: 'credit', amount })
const entry = (reference: string, lines: readonly Line[], kind = 'check'): Entry => ({
  agentId,
  mode: 'live',
  kind,
  reference,
  lines,
})
const inAgentTransaction = <T>(work: (tx: Tx) => Promise<T>) => inTransaction(harness.ctx, agentId, work)
const postNow = (entryToPost: Entry) => inAgentTransaction((tx) => post(tx, entryToPost))
const balance = (account: string) =>
  inAgentTransaction((tx) => balanceOf(tx, { agentId, mode: 'live', account, unit: 'credit' }))
const fund = (account: string, amount: bigint) =>
  postNow(entry(`fund ${account}`, [credit('world:test', -amount), credit(account, amount)]))

void test('an entry moves value and tells the balances after', async () => {
  const posting = await fund('a', 100n)
  assert.equal(posting.repeated, false)
  assert.equal(balanceAfter(posting, 'a'), 100n)
  assert.equal(balanceAfter(posting, 'world:test'), -100n)
  assert.throws(() => balanceAfter(posting, 'b'), /no line/)
  assert.equal(await balance('a'), 100n)
  assert.equal(await balance('never used'), 0n)
})

void test('a reference posts once for ever: the repeat moves nothing and answers as the first did', async () => {
  const entryToPost = entry('once', [credit('world:test', -5n), credit('once', 5n)])
  const first = await postNow(entryToPost)
  await postNow(entry('in between', [credit('world:test', -1n), credit('once', 1n)]))
  await harness.advance(70 * 86_400_000)
  const repeat = await postNow(entryToPost)
  assert.deepEqual({ ...repeat, repeated: false }, first)
  assert.equal(repeat.repeated, true)
  assert.equal(await balance('once'), 6n)
  const found = await inAgentTransaction((tx) => findPosting(tx, entryToPost))
  assert.deepEqual(found, repeat)
  assert.equal(
    await inAgentTransaction((tx) => findPosting(tx, { ...entryToPost, reference: 'unknown' })),
    undefined,
  )
})

void test('another mode and another agent have separate accounts and references', async () => {
  const entryToPost = entry('shared', [credit('world:test', -1n), credit('shared', 1n)])
  await postNow(entryToPost)
  assert.equal((await postNow({ ...entryToPost, mode: 'test' })).repeated, false)
  const foreign = { ...entryToPost, agentId: other.agentId }
  assert.equal((await inTransaction(harness.ctx, other.agentId, (tx) => post(tx, foreign))).repeated, false)
  assert.equal(await balance('shared'), 1n)
})

void test('an account cannot give what it lacks, and the transaction lives on', async () => {
  await fund('poor', 3n)
  await inAgentTransaction(async (tx) => {
    await assert.rejects(
      post(tx, entry('too much', [credit('poor', -4n), credit('rich', 4n)])),
      (error: unknown) =>
        error instanceof InsufficientBalance && error.account === 'poor' && error.balance === 3n,
    )
    await post(tx, entry('too much', [credit('poor', -3n), credit('rich', 3n)]))
  })
  assert.equal(await balance('poor'), 0n)
  assert.equal(await balance('rich'), 3n)
})

void test('a posting that would settle more than the debt is refused', async () => {
  await postNow(entry('lend', [credit('owed:test', -5n), credit('lent', 5n)]))
  await fund('purse', 9n)
  await assert.rejects(
    postNow(entry('settle', [credit('purse', -6n), credit('owed:test', 6n)])),
    InsufficientBalance,
  )
  await postNow(entry('settle', [credit('purse', -5n), credit('owed:test', 5n)]))
  assert.equal(await balance('owed:test'), 0n)
})

const malformed: readonly { name: string; lines: readonly Line[]; fault: RegExp }[] = [
  {
    name: 'does not sum to zero',
    lines: [credit('a', -1n), credit('b', 2n)],
    fault: /do not sum to zero/,
  },
  {
    name: 'sums to zero only across units',
    lines: [credit('world:test', -1n), { account: 'b', unit: 'star', amount: 1n }],
    fault: /do not sum to zero/,
  },
  { name: 'has one line', lines: [credit('a', 0n)], fault: /2 to 50/ },
  { name: 'has a line of nothing', lines: [credit('a', 0n), credit('b', 0n)], fault: /none of them zero/ },
  {
    name: 'names an account twice',
    lines: [credit('a', -2n), credit('a', 1n), credit('b', 1n)],
    fault: /twice/,
  },
  {
    name: 'names an account with text of a caller',
    lines: [credit('world:test', -1n), credit('stars:ann@example.com', 1n)],
    fault: /ledger_accounts_account_check/,
  },
]
for (const { name, lines, fault } of malformed) {
  void test(`an entry that ${name} is refused by the database`, async () => {
    await assert.rejects(postNow(entry(name, lines)), fault)
  })
}

void test("another agent's accounts are refused, whatever role owns the function", async () => {
  const foreign = {
    ...entry('foreign', [credit('world:test', -1n), credit('a', 1n)]),
    agentId: other.agentId,
  }
  await assert.rejects(postNow(foreign), /ledger of another tenant/)
  const unseen = await inAgentTransaction((tx) =>
    balanceOf(tx, { agentId: other.agentId, mode: 'live', account: 'shared', unit: 'credit' }),
  )
  assert.equal(unseen, 0n)
})

const tables = ['ledger_accounts', 'ledger_entries', 'ledger_lines', 'ledger_claims'] as const
const partitions = async (): Promise<string[]> => {
  const { rows } = await harness.owner.query<{ name: string }>(
    'select inhrelid::regclass::text as name from pg_inherits join platform_partitioned on inhparent = table_name::regclass',
  )
  return rows.map((row) => row.name)
}

void test('the program cannot write the ledger but through its function, not even as system', async () => {
  for (const table of tables) {
    for (const statement of [
      `insert into ${table} (agent_id) values ('${agentId}')`,
      `update ${table} set agent_id = agent_id`,
      `delete from ${table}`,
      `truncate ${table}`,
    ]) {
      await assert.rejects(
        inTransaction(harness.ctx, 'system', (tx) => sql.raw(statement).execute(tx)),
        /permission denied/,
        statement,
      )
    }
  }
})

void test('the program reaches no partition past its parent', async (t) => {
  const names = await partitions()
  t.diagnostic(`saw ${names.length} partitions`)
  assert.ok(names.length >= 9)
  for (const name of names) {
    for (const statement of [`select 1 from ${name}`, `insert into ${name} select * from ${name}`]) {
      await assert.rejects(
        inTransaction(harness.ctx, 'system', (tx) => sql.raw(statement).execute(tx)),
        /permission denied/,
        statement,
      )
    }
  }
})

void test('not even the owner changes or deletes history, by parent or by partition', async () => {
  const { rows } = await harness.owner.query<{ name: string }>(
    'select tableoid::regclass::text as name from ledger_lines limit 1',
  )
  assert.ok(rows[0])
  for (const table of ['ledger_entries', 'ledger_lines', 'ledger_claims', rows[0].name]) {
    for (const statement of [`update ${table} set entry_id = 'x'`, `delete from ${table}`])
      await assert.rejects(harness.owner.query(statement), /append-only/, statement)
  }
})

void test('not even the owner brings a balance to the wrong side of zero', async () => {
  await assert.rejects(
    harness.owner.query("update ledger_accounts set balance = -1 where account = 'rich'"),
    /ledger_balance_side/,
  )
})

void test('one file calls the function', () => {
  const callers = readSources().filter((file) => file.text.includes('ledger_post'))
  assert.deepEqual(
    callers.map((file) => file.path),
    ['ledger/store.ts'],
  )
})

for (const parallel of [2, 20, 100]) {
  void test(`of ${parallel} that spend the last credit at once, exactly one gets it`, async () => {
    const account = `last:${parallel}`
    await fund(account, 1n)
    const results = await Promise.allSettled(
      Array.from({ length: parallel }, (_, index) =>
        postNow(entry(`${account} ${index}`, [credit(account, -1n), credit('spent', 1n)])),
      ),
    )
    const refused = results.filter((result) => result.status === 'rejected')
    assert.equal(results.length - refused.length, 1)
    assert.ok(refused.every((result) => result.reason instanceof InsufficientBalance))
    assert.equal(await balance(account), 0n)
  })

  void test(`of ${parallel} that post one reference at once, exactly one moves value`, async () => {
    const account = `same:${parallel}`
    const postings = await Promise.all(
      Array.from({ length: parallel }, () =>
        postNow(entry(account, [credit('world:test', -1n), credit(account, 1n)])),
      ),
    )
    assert.equal(postings.filter((posting) => !posting.repeated).length, 1)
    assert.equal(new Set(postings.map((posting) => posting.entryId)).size, 1)
    assert.equal(await balance(account), 1n)
  })
}

void test('entries that name the same accounts in opposite order never wait for each other', async () => {
  await fund('left', 100n)
  await fund('right', 100n)
  await Promise.all(
    Array.from({ length: 60 }, (_, index) => {
      const lines = [credit('left', index % 2 === 0 ? -1n : 1n), credit('right', index % 2 === 0 ? 1n : -1n)]
      return postNow(entry(`cross ${index}`, index % 2 === 0 ? lines : lines.toReversed()))
    }),
  )
  const { rows } = await harness.owner.query<{ deadlocks: string }>(
    'select deadlocks from pg_stat_database where datname = current_database()',
  )
  assert.equal(Number(rows[0]?.deadlocks), 0)
  assert.equal(await balance('left'), 100n)
})
