import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Pool } from 'pg'
import { serverRoot, type SourceFile } from './import-rules.ts'

/** Tables that belong to the deployment, not to one agent; each is named here or fails. */
const deploymentWide: ReadonlySet<string> = new Set([
  'platform_migrations',
  'platform_partitioned',
  'platform_clock',
  'platform_due_times',
  'platform_master_key',
  'platform_kept_keys',
  'platform_master_key_holders',
  'platform_rewraps',
  'operators',
  'operator_audit',
  // A key or mailed token names its agent, so the look-up starts from its hash.
  'api_key_hashes',
  'mail_tokens',
  // In live a photo counts once for the whole deployment.
  'photo_hashes',
  // The index is one for the whole deployment, and a forward order comes from somebody who has no agent yet.
  'vhh_epochs',
  'vhh_inputs',
  'vhh_running',
  'forward_orders',
  // A place in the free plan is one of so many of a mail domain or network, whichever agent takes it.
  'free_plan_places',
  'free_plan_months',
  // A recipient is nobody's: any agent may cause a mail to it.
  'mail_counts',
  // The operator offers the same work to every agent.
  'workflows',
  // A person belongs to no agent; each agent has a member of its own. Row-level security shows them to the system alone.
  'people',
  'person_passkeys',
  'person_logins',
  'person_recovery_codes',
  'person_proofs',
  'proof_tombstones',
  'issuer_requests',
  // The directory of a company is found by its token, and an issuer may serve every agent.
  'issuer_users',
  'passkey_challenges',
  'consents',
  'nullifiers',
  'onchain_humans',
  // Who works on what: it names people, so no agent reads it, although it names the agent whose unit it is.
  'assignments',
  'worker_earnings',
  'worker_standing',
  // An account is one person's, whichever agents the person works for.
  'payout_accounts',
  'payout_account_refusals',
  // An account owns agents and belongs to none; neither do its people, whom row-level security shows to the system alone.
  'accounts',
  'account_people',
  'account_roles',
  'account_invitations',
  'account_links',
  'account_sessions',
  'account_passkeys',
  'account_challenges',
  // Operators belong to no agent.
  'operator_passkeys',
  'operator_challenges',
  'operator_sessions',
  // An invitation is looked up by the hash of its link.
  'enrolment_links',
  // A message of the card provider may come before its checkout is known: then it is nobody's yet.
  'card_payments',
  'card_disputes',
  'card_refund_facts',
  'card_events',
  // An authorization counts once for the whole deployment, and gas is the operator's.
  'x402_payments',
  'gas_keys',
  'gas_transactions',
  // A receiver that has not answered yet is limited by its host, whichever agents name it.
  'webhook_hosts',
  // The keys of the deployment sign for every agent.
  'key_manifests',
  'key_revocations',
  'key_rotations',
  // A status list mixes the credentials of all agents of a mode: a place in it must not tell whose it is.
  'status_lists',
  'status_blocks',
  'status_entries',
  'status_elsewhere',
  // What a signer signed and what a restore found, for all agents at once.
  'mint_batches',
  'mint_batches_pruned',
  'forgotten_values',
  'restore_epochs',
  // A network has one budget, whichever agents spend it, and an act may rest on the session of another agent.
  'root_keys',
  'root_sessions',
  'root_counters',
  'root_reservations',
  'root_network_credentials',
  'root_credentials',
  'root_suspensions',
  'root_losses',
  // A trust root belongs to the operator, its agents are found by the name of a key, and a nonce works once for everybody.
  'trust_roots',
  'trust_agents',
  'trust_uses',
  // A batch for ClickHouse holds rows of several agents.
  'attention_batches',
  'attention_delivery',
  // How far two ledgers were compared, for all agents at once.
  'ledger_compared',
])

type Column = { table_name: string; column_name: string }
type Key = {
  table_name: string
  index_name: string
  columns: string[]
  is_primary: boolean
  partition_columns: string[] | null
}

const tablesOf = async (
  owner: Pool,
): Promise<{ name: string; secured: boolean; forced: boolean; policies: number; partitioned: boolean }[]> => {
  const { rows } = await owner.query(
    `select c.relname as name, c.relrowsecurity as secured, c.relforcerowsecurity as forced, c.relkind = 'p' as partitioned,
       (select count(*)::int from pg_policy p where p.polrelid = c.oid) as policies
     from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition order by 1`,
  )
  return rows
}

const keysOf = async (owner: Pool): Promise<Key[]> => {
  const { rows } = await owner.query<Key>(
    `select c.relname as table_name, i.relname as index_name, x.indisprimary as is_primary,
       array(select a.attname::text from unnest(x.indkey[0:x.indnkeyatts - 1]) with ordinality k(n, o) join pg_attribute a on a.attrelid = c.oid and a.attnum = k.n order by k.o) as columns,
       (select array_agg(a.attname::text) from pg_partitioned_table p join pg_attribute a on a.attrelid = c.oid and a.attnum = any(p.partattrs) where p.partrelid = c.oid) as partition_columns
     from pg_index x join pg_class c on c.oid = x.indrelid join pg_class i on i.oid = x.indexrelid
     where x.indisunique and c.relnamespace = 'public'::regnamespace and not c.relispartition`,
  )
  return rows
}

/** What in the database breaks the rules of growth and tenancy. */
export const schemaFaults = async (
  owner: Pool,
): Promise<{ faults: string[]; tables: number; keys: number }> => {
  const tables = await tablesOf(owner)
  const keys = await keysOf(owner)
  const { rows: columns } = await owner.query<Column>(
    "select table_name, column_name from information_schema.columns where table_schema = 'public'",
  )
  const hasAgent = (table: string) =>
    columns.some((column) => column.table_name === table && column.column_name === 'agent_id')
  const faults: string[] = []
  for (const table of tables) {
    if (hasAgent(table.name) && !(table.secured && table.forced && table.policies > 0))
      faults.push(`${table.name} has agent_id but no forced row-level security`)
    if (!hasAgent(table.name) && !deploymentWide.has(table.name))
      faults.push(`${table.name} has no agent_id and is not named as deployment-wide`)
    if (table.partitioned) {
      const { rowCount } = await owner.query('select from platform_partitioned where table_name = $1', [
        table.name,
      ])
      if (rowCount === 0) faults.push(`${table.name} is partitioned but nobody makes its next partitions`)
    }
  }
  for (const key of keys) {
    if (!deploymentWide.has(key.table_name) && key.columns[0] !== 'agent_id')
      faults.push(`${key.index_name} of ${key.table_name} does not begin with agent_id`)
    // A unique key of a partitioned table holds within one partition only: it may identify a row, never claim a name.
    if (key.partition_columns && !key.is_primary)
      faults.push(`${key.index_name} of ${key.table_name} cannot hold across partitions; use a claim table`)
  }
  const { rows: open } = await owner.query<{ name: string }>(
    "select c.relname as name from pg_class c where c.relnamespace = 'public'::regnamespace and c.relispartition and has_table_privilege('pohf_app', c.oid, 'select, insert, update, delete')",
  )
  for (const { name } of open) faults.push(`${name} can be reached past the policies of its parent`)
  const { rows: foreign } = await owner.query<{ name: string; table_name: string; first: string }>(
    `select k.conname as name, c.relname as table_name, (select a.attname::text from pg_attribute a where a.attrelid = k.conrelid and a.attnum = k.conkey[1]) as first
     from pg_constraint k join pg_class c on c.oid = k.conrelid where k.contype = 'f' and c.relnamespace = 'public'::regnamespace and not c.relispartition`,
  )
  for (const key of foreign)
    if (!deploymentWide.has(key.table_name) && key.first !== 'agent_id')
      faults.push(`the foreign key ${key.name} does not begin with agent_id`)
  return { faults, tables: tables.length, keys: keys.length }
}

/** Functions with the rights of their owner in which a caller's temporary table could stand in for a real one. */
export const definerFaults = async (owner: Pool): Promise<{ faults: string[]; functions: number }> => {
  const { rows } = await owner.query<{ name: string; config: string[] | null }>(
    `select p.oid::regprocedure::text as name, p.proconfig as config from pg_proc p
     where p.prosecdef and p.pronamespace = 'public'::regnamespace order by 1`,
  )
  const faults = rows.flatMap(({ name, config }) => {
    const path = config?.find((entry) => entry.startsWith('search_path='))?.slice('search_path='.length)
    const schemas = path?.split(',').map((schema) => schema.trim()) ?? []
    // PostgreSQL searches pg_temp first unless the path names it.
    return schemas.indexOf('pg_temp') === schemas.length - 1 && schemas.length > 1
      ? []
      : [`the definer function ${name} does not have pg_temp last in its search_path`]
  })
  return { faults, functions: rows.length }
}

/** SQL functions that neither the program nor the schema calls. */
const calledElsewhere: Readonly<Record<string, string>> = {
  pohf_hide_from_agents: 'migrations call it for a new table',
  pohf_isolate: 'migrations call it for a new table',
}

type Routine = { name: string; signatures: number; is_named: boolean; callers: string[]; body: string }

/** Names that are called in a text. */
const callsIn = (text: string): ReadonlySet<string> =>
  new Set([...text.matchAll(/\b(\w+)\s*\(/g)].map(([, name = '']) => name))

/** SQL functions with several signatures, and those that nothing calls which is called itself. */
export const routineFaults = async (
  owner: Pool,
  sources: readonly SourceFile[],
): Promise<{ faults: string[]; routines: number }> => {
  // What depends on a function is a trigger, a default, a constraint, a policy or an index, or the SQL of a function whose
  // body PostgreSQL has parsed.
  const { rows: routines } = await owner.query<Routine>(
    `select p.proname as name, count(distinct p.oid)::int as signatures,
       bool_or(d.classid is not null and d.classid <> 'pg_proc'::regclass) as is_named,
       array_remove(array_agg(distinct caller.proname::text), null) as callers,
       string_agg(distinct p.prosrc, ' ') as body
     from pg_proc p left join pg_depend d on d.refclassid = 'pg_proc'::regclass and d.refobjid = p.oid
     left join pg_proc caller on d.classid = 'pg_proc'::regclass and caller.oid = d.objid
     where p.pronamespace = 'public'::regnamespace group by 1 order by 1`,
  )
  const program = callsIn(
    sources.map(({ text }) => text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, ' ')).join('\n'),
  )
  const calls = new Map(routines.map(({ name, body }) => [name, callsIn(body.replaceAll(/--[^\n]*/g, ' '))]))
  const live = new Set(
    routines
      .filter(({ name, is_named }) => is_named || program.has(name) || Object.hasOwn(calledElsewhere, name))
      .map(({ name }) => name),
  )
  // A Set visits what is added to it while it is visited.
  for (const caller of live)
    for (const { name, callers } of routines)
      if (calls.get(caller)?.has(name) || callers.includes(caller)) live.add(name)
  return {
    faults: [
      ...routines
        .filter(({ signatures }) => signatures > 1)
        .map(({ name, signatures }) => `${name} has ${signatures} signatures`),
      ...routines.filter(({ name }) => !live.has(name)).map(({ name }) => `nothing calls ${name}`),
      ...Object.keys(calledElsewhere)
        .filter((name) => !calls.has(name))
        .map((name) => `${name}, called elsewhere, does not exist`),
    ],
    routines: routines.length,
  }
}

/** The schema.sql of every module. */
export const readSchemaFiles = (): SourceFile[] =>
  globSync('**/schema.sql', { cwd: join(serverRoot, 'src') }).map((path) => ({
    path,
    text: readFileSync(join(serverRoot, 'src', path), 'utf8'),
  }))

/** Tables and functions that are not in exactly one schema.sql, and those of no database. */
export const schemaFileFaults = async (owner: Pool, files: readonly SourceFile[]): Promise<string[]> => {
  const { rows } = await owner.query<{ name: string }>(
    `select 'table ' || relname as name from pg_class
       where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
     union all select case prokind when 'a' then 'aggregate ' when 'p' then 'procedure ' else 'function ' end || proname
       from pg_proc where pronamespace = 'public'::regnamespace`,
  )
  const expected = new Set(rows.map(({ name }) => name))
  const written = files.flatMap(({ text }) =>
    [...text.matchAll(/^create ((?:table|aggregate|procedure|function) \w+)/gm)].map(([, name = '']) => name),
  )
  return [...new Set([...expected, ...written])]
    .map((name) => ({ name, count: written.filter((one) => one === name).length }))
    .filter(({ name, count }) => count !== 1 || !expected.has(name))
    .map(({ name, count }) => `the ${name} is ${count} times in schema.sql`)
}
