import assert from 'node:assert/strict'
import { test } from 'node:test'
import { schemaFaults } from './schema-rules.ts'
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
