import { Client } from 'pg'

export type Table = {
  readonly name: string
  readonly partition_key: string | null
  readonly keep_months: number | null
  readonly by_day: boolean
  readonly options: string | null
  readonly secured: boolean
}
type PartOfTable = { readonly table_name: string }
export type Column = PartOfTable & {
  readonly name: string
  readonly type: string
  readonly required: boolean
  readonly identity: string
  readonly generated: string
  readonly value: string | null
  readonly collation: string | null
}
export type Constraint = PartOfTable & {
  readonly name: string
  readonly kind: string
  /** Of a check of one column. */
  readonly column_name: string | null
  readonly definition: string
}
type Definition = PartOfTable & { readonly definition: string }
export type Policy = PartOfTable & {
  readonly command: string
  readonly role: string
  readonly visible: string | null
  readonly writable: string | null
}
export type Grant = PartOfTable & {
  readonly role: string
  readonly privilege: string
  readonly columns: string | null
}
export type Routine = {
  readonly name: string
  readonly definition: string
  /** Null where the definition has it, or where it is of an aggregate. */
  readonly body: string | null
  /** Null where it is the role that migrates. */
  readonly owner: string | null
  /** Roles besides the owner that may execute it; null for every role. */
  readonly executors: string[] | null
}
type CompositeType = { readonly name: string; readonly fields: string }

/** Tables of ours; `c` is the table. Partitions are left out. */
const isTable = "c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition"

const queries = {
  /** Kinds of relations that nothing below reads. */
  unread: `select c.relname as name from pg_class c where c.relnamespace = 'public'::regnamespace
    and c.relkind not in ('r', 'p', 'i', 'I', 'S', 'c', 't')`,
  tables: `select c.relname as name, case when c.relkind = 'p' then pg_get_partkeydef(c.oid) end as partition_key,
      p.keep_months, coalesce(p.by_day, false) as by_day, array_to_string(c.reloptions, ', ') as options,
      c.relrowsecurity and c.relforcerowsecurity as secured
    from pg_class c left join platform_partitioned p on p.table_name = c.relname where ${isTable} order by c.relname`,
  columns: `select c.relname as table_name, a.attname as name, format_type(a.atttypid, a.atttypmod) as type,
      a.attnotnull as required, a.attidentity::text as identity, a.attgenerated::text as generated,
      pg_get_expr(d.adbin, d.adrelid, true) as value, l.collname as collation
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    left join pg_collation l on l.oid = a.attcollation and l.collname <> 'default' where ${isTable} order by 1, a.attnum`,
  // In the order primary key, unique, foreign keys, checks. PostgreSQL 18 has a constraint for each column that is not null.
  constraints: `select c.relname as table_name, k.conname as name, k.contype::text as kind,
      case when k.contype = 'c' and cardinality(k.conkey) = 1 then a.attname end as column_name,
      pg_get_constraintdef(k.oid, true) as definition
    from pg_class c join pg_constraint k on k.conrelid = c.oid and k.contype in ('p', 'u', 'f', 'c')
    left join pg_attribute a on a.attrelid = c.oid and a.attnum = k.conkey[1] where ${isTable}
    order by 1, array_position('{p,u,f,c}', k.contype), k.conname`,
  indexes: `select c.relname as table_name, pg_get_indexdef(x.indexrelid, 0, true) as definition
    from pg_class c join pg_index x on x.indrelid = c.oid join pg_class i on i.oid = x.indexrelid
    where ${isTable} and not exists (select from pg_constraint k where k.conindid = x.indexrelid) order by 1, i.relname`,
  triggers: `select c.relname as table_name, pg_get_triggerdef(t.oid, true) as definition
    from pg_class c join pg_trigger t on t.tgrelid = c.oid and not t.tgisinternal where ${isTable} order by 1, t.tgname`,
  policies: `select c.relname as table_name, p.polcmd::text as command, coalesce(r.rolname, '') as role,
      pg_get_expr(p.polqual, p.polrelid, true) as visible, pg_get_expr(p.polwithcheck, p.polrelid, true) as writable
    from pg_class c join pg_policy p on p.polrelid = c.oid cross join unnest(p.polroles) of_role
    left join pg_roles r on r.oid = of_role where ${isTable} order by 1, 3, p.polname`,
  grants: `select c.relname as table_name, r.rolname as role, lower(g.privilege_type) as privilege, columns
    from pg_class c cross join lateral (
      select grantee, privilege_type, null::text as columns from aclexplode(c.relacl)
      union all
      select e.grantee, e.privilege_type, string_agg(a.attname, ', ' order by a.attnum)
        from pg_attribute a cross join aclexplode(a.attacl) e where a.attrelid = c.oid group by 1, 2
    ) g join pg_roles r on r.oid = g.grantee and r.oid <> c.relowner where ${isTable}
    order by 1, 2, g.columns is not null,
      array_position('{select,insert,update,delete}', lower(g.privilege_type)), 3`,
  sequences: `select c.relname as name from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind = 'S'
    and not exists (select from pg_depend d where d.objid = c.oid and d.deptype in ('a', 'i')) order by 1`,
  types: `select t.typname as name, string_agg(format('%I %s', a.attname, format_type(a.atttypid, a.atttypmod)), ', '
      order by a.attnum) as fields
    from pg_type t join pg_class c on c.oid = t.typrelid and c.relkind = 'c'
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where t.typnamespace = 'public'::regnamespace group by 1 order by 1`,
  routines: `select p.proname as name, nullif(p.proowner::regrole::text, current_user) as owner,
      case p.prokind when 'a' then (
        select format('create aggregate %s(%s) (sfunc = %s, stype = %s%s)', p.proname, pg_get_function_arguments(p.oid),
          g.aggtransfn, format_type(g.aggtranstype, null), ', initcond = ' || quote_literal(g.agginitval))
        from pg_aggregate g where g.aggfnoid = p.oid)
      else pg_get_functiondef(p.oid) end as definition,
      case when p.prosqlbody is null and p.prokind <> 'a' then p.prosrc end as body,
      case when p.proacl is not null and not exists (select from aclexplode(p.proacl) where grantee = 0) then
        array(select e.grantee::regrole::text from aclexplode(p.proacl) e where e.grantee <> p.proowner order by 1)
      end as executors
    from pg_proc p where p.pronamespace = 'public'::regnamespace order by 1, pg_get_function_identity_arguments(p.oid)`,
} as const

/** What the catalogue of a migrated database says about the schema. */
export type Catalogue = {
  readonly tables: Table[]
  readonly columns: Column[]
  readonly constraints: Constraint[]
  readonly indexes: Definition[]
  readonly triggers: Definition[]
  readonly policies: Policy[]
  readonly grants: Grant[]
  readonly sequences: { readonly name: string }[]
  readonly types: CompositeType[]
  readonly routines: Routine[]
}

export const readCatalogue = async (url: string): Promise<Catalogue> => {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    const rowsOf = async <T extends object>(query: string): Promise<T[]> =>
      (await client.query<T>(query)).rows
    const unread = await rowsOf<{ name: string }>(queries.unread)
    if (unread.length > 0)
      throw new Error(`schema.sql has no form for ${unread.map(({ name }) => name).join(', ')}: add one`)
    return {
      tables: await rowsOf(queries.tables),
      columns: await rowsOf(queries.columns),
      constraints: await rowsOf(queries.constraints),
      indexes: await rowsOf(queries.indexes),
      triggers: await rowsOf(queries.triggers),
      policies: await rowsOf(queries.policies),
      grants: await rowsOf(queries.grants),
      sequences: await rowsOf(queries.sequences),
      types: await rowsOf(queries.types),
      routines: await rowsOf(queries.routines),
    }
  } finally {
    await client.end()
  }
}
