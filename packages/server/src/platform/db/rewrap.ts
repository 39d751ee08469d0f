import { setTimeout as wait } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Ctx } from '../ops/context.ts'
import { versionOf } from '../ops/secrets.ts'
import { inTransaction, type Tx } from './db.ts'
import { listSealed, nameOf, updateSealed, type ResealedValue, type SealedColumn } from './sealed.ts'

// Moves sealed values to the version of the master key that seals. Each page is a transaction of its own, which also stores
// how far it came: a run that is killed continues there, and two runs at once share the work.

/** Rows of one transaction: about 10 ms of encryption. */
const pageRows = 500

export type ColumnProgress = {
  readonly column: string
  readonly readRows: number
  readonly moved: number
  /** Values that no version of the file opens: those of a master key that was lost. */
  readonly unreadable: number
  readonly finished: boolean
}

type Position = { readonly after: readonly string[] | null; readonly finished: boolean }

const lockPosition = async (tx: Tx, version: number, column: string): Promise<Position> => {
  await sql`
    insert into platform_rewraps (version, column_name) values (${version}, ${column})
    on conflict do nothing`.execute(tx)
  const { rows } = await sql<{ after: string[] | null; finished: boolean }>`
    select position as after, finished_at is not null as finished from platform_rewraps
    where version = ${version} and column_name = ${column} for update`.execute(tx)
  const [row] = rows
  if (!row) throw new Error(`column ${column} has no row of version ${version} in platform_rewraps`)
  return row
}

type PageResult = {
  readonly rows: number
  readonly last: readonly string[] | null
  /** Values of other versions that were found. */
  readonly found: number
  readonly moved: number
  readonly unreadable: number
}

const updatePosition = async (tx: Tx, version: number, column: string, page: PageResult): Promise<void> => {
  await sql`
    update platform_rewraps set position = coalesce(${page.last}::text[], position), read_rows = read_rows + ${page.rows},
      moved = moved + ${page.moved}, unreadable = unreadable + ${page.unreadable},
      finished_at = case when ${page.last === null} then pohf_now() end
    where version = ${version} and column_name = ${column}`.execute(tx)
}

/** The values of a page that are sealed under another version, sealed anew; and how many nothing opens. */
const resealAll = (
  { secrets }: Pick<Ctx, 'secrets'>,
  { purpose }: SealedColumn,
  values: readonly Omit<ResealedValue, 'resealed'>[],
): { readonly resealed: ResealedValue[]; readonly unreadable: number } => {
  const target = secrets.keyring.sealing()
  const others = values.filter(({ sealed }) => versionOf(sealed) !== target)
  const resealed = others.flatMap((value) => {
    const text = secrets.keyring.reseal(purpose, value.sealed)
    return text === undefined ? [] : [{ ...value, resealed: text }]
  })
  return { resealed, unreadable: others.length - resealed.length }
}

const movePage = async (
  tx: Tx,
  ctx: Pick<Ctx, 'secrets'>,
  column: SealedColumn,
  after: readonly string[] | null,
): Promise<PageResult> => {
  const { values, rows, last } = await listSealed(tx, column, { after, limit: pageRows })
  const { resealed, unreadable } = resealAll(ctx, column, values)
  const moved = await updateSealed(tx, column, resealed)
  return { rows, last, found: resealed.length, moved, unreadable }
}

/** Moves the next page of a column; false where the column has been read to its end. */
const rewrapPage = async (ctx: Ctx, column: SealedColumn): Promise<boolean> => {
  const version = ctx.secrets.keyring.sealing()
  return inTransaction(ctx, 'system', async (tx) => {
    const { after, finished } = await lockPosition(tx, version, nameOf(column))
    if (finished) return false
    const page = await movePage(tx, ctx, column, after)
    await updatePosition(tx, version, nameOf(column), page)
    return page.last !== null
  })
}

/** Calls `page` until it returns false, and pauses as long as each call took: others get at least half of the database. */
const repeatPages = async (page: () => Promise<boolean>): Promise<void> => {
  for (;;) {
    const startedAt = performance.now()
    if (!(await page())) return
    await wait(performance.now() - startedAt)
  }
}

/** Moves every value of a column, from where an earlier run came to. */
export const rewrapColumn = (ctx: Ctx, column: SealedColumn, report: () => Promise<void>): Promise<void> =>
  repeatPages(async () => {
    const goesOn = await rewrapPage(ctx, column)
    await report()
    return goesOn
  })

/**
 * Reads a whole column and moves what is still sealed under another version. Returns how many values it found: a
 * transaction that was open when the version began to seal may have stored one behind the position of the first run.
 */
export const moveRest = async (
  ctx: Ctx,
  column: SealedColumn,
  beforePage: () => Promise<void>,
): Promise<number> => {
  let after: readonly string[] | null = null
  let found = 0
  await repeatPages(async () => {
    const from = after
    await beforePage()
    const page = await inTransaction(ctx, 'system', (tx) => movePage(tx, ctx, column, from))
    found += page.found
    after = page.last
    return after !== null
  })
  return found
}

export const listProgress = async (tx: Tx, version: number): Promise<ColumnProgress[]> => {
  const { rows } = await sql<{
    column: string
    readRows: bigint
    moved: bigint
    unreadable: bigint
    finished: boolean
  }>`
    select column_name as column, read_rows as "readRows", moved, unreadable, finished_at is not null as finished
    from platform_rewraps where version = ${version} order by column_name limit 100`.execute(tx)
  return rows.map((row) => ({
    ...row,
    readRows: Number(row.readRows),
    moved: Number(row.moved),
    unreadable: Number(row.unreadable),
  }))
}
