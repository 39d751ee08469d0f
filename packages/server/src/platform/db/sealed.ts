import { sql } from 'kysely'
import type { ResealedPurpose } from '../ops/secret-purposes.ts'
import type { Tx } from './db.ts'

/** A column whose values are sealed under a key of the master key. The store of its table names it. */
export type SealedColumn = {
  readonly purpose: ResealedPurpose
  readonly table: string
  readonly column: string
  /** The columns of the primary key, in its order, with their types. */
  readonly key: readonly (readonly [name: string, type: 'text' | 'date'])[]
  /** The field, where the column is jsonb, and the topics of the rows that have it. */
  readonly field?: { readonly name: string; readonly topics: readonly string[] }
}

export const nameOf = ({ table, column }: SealedColumn): string => `${table}.${column}`

type SealedValue = { readonly key: readonly string[]; readonly sealed: string }
export type ResealedValue = SealedValue & { readonly resealed: string }

type Page = {
  readonly values: readonly SealedValue[]
  readonly rows: number
  /** The key of the last row that was read; null at the end of the table. */
  readonly last: readonly string[] | null
}

const keyColumns = ({ key }: SealedColumn) => sql.join(key.map(([name]) => sql.ref(name)))
const valueOf = ({ column, field }: SealedColumn) =>
  field
    ? sql`case when topic = any(${field.topics}::text[]) then ${sql.ref(column)} ->> ${field.name} end`
    : sql.ref(column)

/** The next rows in the order of the primary key, at most `limit`, with the values that are sealed. */
export const listSealed = async (
  tx: Tx,
  column: SealedColumn,
  { after, limit }: { readonly after: readonly string[] | null; readonly limit: number },
): Promise<Page> => {
  const start = after?.map((value, index) => sql`${value}::${sql.raw(column.key[index]?.[1] ?? 'text')}`)
  const keys = sql.join(
    column.key.map(([name]) => sql`${sql.ref(name)}::text`),
    sql`, `,
  )
  const { rows } = await sql<{ key: string[]; sealed: string | null }>`
    select array[${keys}] as key, ${valueOf(column)} as sealed from ${sql.table(column.table)}
    ${start ? sql`where (${keyColumns(column)}) > (${sql.join(start)})` : sql``}
    order by ${keyColumns(column)} limit ${limit}`.execute(tx)
  const values = rows.flatMap(({ key, sealed }) => (sealed ? [{ key, sealed }] : []))
  return { values, rows: rows.length, last: rows.length < limit ? null : (rows.at(-1)?.key ?? null) }
}

/** Replaces values that are still as they were read. A value that somebody changed meanwhile is left to its new text. */
export const updateSealed = async (
  tx: Tx,
  column: SealedColumn,
  values: readonly ResealedValue[],
): Promise<number> => {
  if (values.length === 0) return 0
  const { table, field, key } = column
  const keys = key.map((_, index) => sql`${values.map((value) => value.key[index] ?? '')}::text[]`)
  const names = sql.join(key.map((_, index) => sql.ref(`k${index}`)))
  const isSame = sql.join(
    key.map(
      ([name, type], index) => sql`held.${sql.ref(name)} = ${sql.ref(`given.k${index}`)}::${sql.raw(type)}`,
    ),
    sql` and `,
  )
  const stored = sql.ref(column.column)
  const newValue = field
    ? sql`jsonb_set(${stored}, ${`{${field.name}}`}::text[], to_jsonb(found.resealed))`
    : sql`found.resealed`
  const current = field ? sql`held.${stored} ->> ${field.name}` : sql`held.${stored}`
  const { numAffectedRows } = await sql`
    with found as (
      select one.ctid as place, given.resealed
      from unnest(${sql.join(keys)}, ${values.map(({ sealed }) => sealed)}::text[],
        ${values.map(({ resealed }) => resealed)}::text[]) given(${names}, sealed, resealed),
      lateral (
        select ctid from ${sql.table(table)} held where ${isSame} and ${current} = given.sealed limit 1 for update) one)
    update ${sql.table(table)} set ${stored} = ${newValue} from found where ${sql.ref(`${table}.ctid`)} = found.place`.execute(
    tx,
  )
  return Number(numAffectedRows ?? 0)
}
