import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readSources } from './import-rules.ts'
import { schemaOwners } from './schema-owners.ts'
import {
  definerFaults,
  readSchemaFiles,
  routineFaults,
  schemaFaults,
  schemaFileFaults,
} from './schema-rules.ts'
import { startHarness } from '../fixtures/harness.ts'

const harness = await startHarness()

test('every table keeps the rules of tenancy and growth', async (t) => {
  const { faults, tables, keys } = await schemaFaults(harness.owner)
  t.diagnostic(`saw ${tables} tables and ${keys} unique keys`)
  assert.ok(tables >= 10 && keys >= 10)
  assert.deepEqual(faults, [])
})

const planted = [
  {
    name: 'an agent-owned table without agent_id first',
    sql: 'create table planted (id text primary key, agent_id text not null)',
    fault: /planted_pkey of planted does not begin with agent_id/,
  },
  {
    name: 'an agent-owned table without row-level security',
    sql: 'create table planted (agent_id text primary key)',
    fault: /no forced row-level security/,
  },
  {
    name: 'a table that names no owner',
    sql: 'create table planted (id text primary key)',
    fault: /not named as deployment-wide/,
  },
  {
    name: 'a natural key on a partitioned table',
    sql: "create table planted (agent_id text, at timestamptz, photo text, primary key (agent_id, photo, at), unique (agent_id, at, photo)) partition by range (at); insert into platform_partitioned values ('planted', 1); call pohf_isolate('planted')",
    fault: /cannot hold across partitions/,
  },
  {
    name: 'a partition that the program may read directly',
    sql: "create table planted (agent_id text, at timestamptz, primary key (agent_id, at)) partition by range (at); call pohf_isolate('planted'); insert into platform_partitioned values ('planted', 1); create table planted_one partition of planted default",
    fault: /planted_one can be reached past the policies/,
  },
  {
    name: 'a foreign key that does not begin with agent_id',
    sql: "create table planted (agent_id text primary key, key_id text, foreign key (key_id, agent_id) references api_keys); call pohf_isolate('planted')",
    fault: /foreign key .* does not begin with agent_id/,
  },
  {
    name: 'a partitioned table that nobody extends',
    sql: "create table planted (agent_id text, at timestamptz, primary key (agent_id, at)) partition by range (at); call pohf_isolate('planted')",
    fault: /nobody makes its next partitions/,
  },
]
for (const violation of planted) {
  test(`a planted violation is seen: ${violation.name}`, async () => {
    await harness.owner.query(violation.sql)
    try {
      const { faults } = await schemaFaults(harness.owner)
      assert.ok(
        faults.some((fault) => violation.fault.test(fault)),
        `not seen; got ${JSON.stringify(faults)}`,
      )
    } finally {
      await harness.owner.query(
        "drop table planted; delete from platform_partitioned where table_name = 'planted'",
      )
    }
  })
}

test('every function with the rights of its owner searches temporary tables last', async (t) => {
  const { faults, functions } = await definerFaults(harness.owner)
  t.diagnostic(`saw ${functions} definer functions`)
  assert.ok(functions >= 8)
  assert.deepEqual(faults, [])
})

for (const path of [undefined, 'public', 'pg_temp, public', 'public, pg_temp, pg_catalog']) {
  test(`a planted violation is seen: a definer function with search_path ${path ?? 'unset'}`, async () => {
    await harness.owner.query(
      `create function planted() returns int language sql security definer ${path === undefined ? '' : `set search_path = ${path}`} as 'select 1'`,
    )
    try {
      const { faults } = await definerFaults(harness.owner)
      assert.deepEqual(faults, [
        'the definer function planted() does not have pg_temp last in its search_path',
      ])
    } finally {
      await harness.owner.query('drop function planted()')
    }
  })
}

test('a temporary table of the caller does not stand in for a table that a definer function changes', async () => {
  const client = await harness.owner.connect()
  try {
    await client.query('set role pohf_app')
    await client.query(
      'create temp table session_chunks as select $1::text as agent_id, $2::text as session_id, now() as at',
      ['agt_1', 'ses_1'],
    )
    await client.query("select session_forget_records('agt_1', 'ses_1', now() - interval '1 hour')")
    const { rows } = await client.query('select session_id from pg_temp.session_chunks')
    assert.deepEqual(rows, [{ session_id: 'ses_1' }])
  } finally {
    client.release(true)
  }
})

const sources = readSources()

test('every SQL function has one signature and a caller', async (t) => {
  const { faults, routines } = await routineFaults(harness.owner, sources)
  t.diagnostic(`saw ${routines} functions and ${sources.length} source files`)
  assert.ok(routines >= 70 && sources.length >= 50)
  assert.deepEqual(faults, [])
})

const plantedRoutines = [
  {
    name: 'a function with a second signature',
    create: "create function pohf_day(at text) returns int language sql as 'select 1'",
    drop: 'drop function pohf_day(text)',
    faults: ['pohf_day has 2 signatures'],
  },
  {
    name: 'a function that only a comment names',
    create: "create function planted() returns int language sql as 'select 1'",
    drop: 'drop function planted()',
    faults: ['nothing calls planted'],
  },
  {
    name: 'functions that only call each other',
    create: `create function planted() returns int language plpgsql as 'begin return planted_too(); end';
      create function planted_too() returns int language plpgsql as 'begin return planted(); end'`,
    drop: 'drop function planted(), planted_too()',
    faults: ['nothing calls planted', 'nothing calls planted_too'],
  },
  {
    name: 'a trigger function without a trigger',
    create: "create function planted() returns trigger language plpgsql as 'begin return new; end'",
    drop: 'drop function planted()',
    faults: ['nothing calls planted'],
  },
]
for (const { name, create, drop, faults } of plantedRoutines) {
  test(`a planted violation is seen: ${name}`, async () => {
    await harness.owner.query(create)
    try {
      const comment = { path: 'ledger/store.ts', text: '/** Calls planted(). */ // and planted()' }
      assert.deepEqual((await routineFaults(harness.owner, [...sources, comment])).faults, faults)
    } finally {
      await harness.owner.query(drop)
    }
  })
}

test('every table and every function is in the schema.sql of one module', async (t) => {
  const files = readSchemaFiles()
  t.diagnostic(`saw ${files.length} files`)
  assert.ok(files.length >= 20)
  assert.deepEqual(await schemaFileFaults(harness.owner, files), [])
})

test('a planted violation is seen: a table in no schema.sql, and one in two', async () => {
  await harness.owner.query('create table planted (id text primary key)')
  try {
    const twice = { path: 'agents/schema.sql', text: 'create table sessions (' }
    assert.deepEqual((await schemaFileFaults(harness.owner, [...readSchemaFiles(), twice])).toSorted(), [
      'the table planted is 0 times in schema.sql',
      'the table sessions is 2 times in schema.sql',
    ])
  } finally {
    await harness.owner.query('drop table planted')
  }
})

test('an object of the schema without an owner is refused', () => {
  const ownerOf = schemaOwners(['sessions', 'attention_segments', 'attention_pages', 'planted'])
  assert.equal(ownerOf('table', 'sessions'), 'sessions')
  assert.equal(ownerOf('function', 'session_forget_records'), 'sessions')
  assert.equal(ownerOf('function', 'attention_page'), 'tracking')
  assert.equal(ownerOf('function', 'credits_hold'), 'credits')
  assert.throws(() => ownerOf('table', 'planted'), /the table planted has 0 owners/)
  assert.throws(() => ownerOf('function', 'planted'), /the function planted has no owner/)
})
