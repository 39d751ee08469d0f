import { Client } from 'pg'

const parts = {
  columns: `select table_name, ordinal_position, column_name, data_type, is_nullable, column_default
    from information_schema.columns where table_schema = 'public' order by 1, 2`,
  constraints: `select conrelid::regclass::text as on_table, conname, pg_get_constraintdef(oid) as definition
    from pg_constraint where connamespace = 'public'::regnamespace order by 1, 2`,
  indexes: `select tablename, indexname, indexdef from pg_indexes where schemaname = 'public' order by 1, 2`,
  routines: `select proname, case prokind when 'a'
      then (select format('%s %s', aggtransfn, agginitval) from pg_aggregate where aggfnoid = pg_proc.oid)
      else pg_get_functiondef(oid) end as definition from pg_proc
    where pronamespace = 'public'::regnamespace order by 1, 2`,
  triggers: `select tgrelid::regclass::text as on_table, tgname, pg_get_triggerdef(oid) as definition
    from pg_trigger where not tgisinternal order by 1, 2`,
  policies: `select tablename, policyname, qual, with_check from pg_policies where schemaname = 'public' order by 1, 2`,
  security: `select relname, relkind, relrowsecurity, relforcerowsecurity from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') order by 1`,
  grants: `select table_name, grantee, privilege_type from information_schema.table_privileges
    where table_schema = 'public' and grantee <> 'postgres' order by 1, 2, 3`,
  migrations: `select to_regclass('public.platform_migrations') is not null as made`,
  partitions: `select inhparent::regclass::text as parent, count(*)::int as count from pg_inherits
    join pg_class parent on parent.oid = inhparent and parent.relkind = 'p' group by 1 order by 1`,
} as const

/** Names of partitions contain their day or month. */
const partitionNames = `select relname from pg_class where relispartition and relnamespace = 'public'::regnamespace`
/** The columns of the queries above that name a table. */
const tableColumns = ['table_name', 'on_table', 'tablename', 'relname']

export type SchemaDump = Record<keyof typeof parts, Record<string, unknown>[]>

/**
 * Everything in the schema that a migration can make, in a form that compares: partitions are counted, so that the dumps of
 * two days are equal.
 */
export const dumpSchema = async (url: string): Promise<SchemaDump> => {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    const { rows: partitions } = await client.query<{ relname: string }>(partitionNames)
    const names = new Set<unknown>(partitions.map(({ relname }) => relname))
    const dump: Record<string, Record<string, unknown>[]> = {}
    for (const [name, query] of Object.entries(parts)) {
      const { rows } = await client.query<Record<string, unknown>>(query)
      dump[name] = rows.filter((row) => !tableColumns.some((column) => names.has(row[column])))
    }
    return dump as SchemaDump
  } finally {
    await client.end()
  }
}
