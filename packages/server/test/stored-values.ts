import { appendFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Pool } from 'pg'

/** Content of callers and of people: what is below these names is theirs. */
const opaque = new Set(['answer', 'goldAnswer', 'samples', 'input', 'items', 'props', 'records', 'example'])
const opaqueColumns = new Set([
  'orders.items',
  'order_units.answer',
  'task_completions.answer',
  'track_events.props',
])

/** Columns that hold words or names of the program and have no check constraint that lists them. */
const wordColumns = [
  'card_refunds.reference',
  'events.subject',
  'free_plan_places.kind',
  'ledger_accounts.account',
  'ledger_compared.comparison',
  'ledger_drift.finding',
  'ledger_entries.kind',
  'ledger_entries.reference',
  'operator_audit.action',
  'outbox.topic',
  'passkey_challenges.bound_to',
  'photo_hashes.scope',
  'purchases.unit_ref',
  'sessions.source',
  'stroke_sketches.scope',
  'webhook_attempts.fault',
] as const

/** Names of the keys in a document, with the path to each; positions in a list do not count. */
const keysOf = (value: unknown, path: string): string[] => {
  if (Array.isArray(value)) return value.flatMap((inner) => keysOf(inner, path))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => {
    const here = `${path} > ${key}`
    // The data of an envelope are those of the event, which is stored too.
    const stops = opaque.has(key) || here.endsWith('envelope > data')
    return stops ? [here] : [here, ...keysOf(inner, here)]
  })
}

/** A word without what differs from run to run: ids, hashes and numbers. */
const shapeOf = (word: string): string =>
  word
    .replaceAll(/\b([a-z]{2,3})_[A-Za-z0-9_-]{16,}/g, '$1_…')
    .replaceAll(/\b(?:0x)?[A-Za-z0-9_-]{32,}\b/g, '…')
    .replaceAll(/\d+/g, '#')

const rowsMax = 500

/** What the program wrote into a database, by names: keys of documents, and words. */
const storedNames = async (pool: Pool): Promise<string[]> => {
  const { rows: columns } = await pool.query<{ name: string; table_name: string; column_name: string }>(
    `select c.table_name || '.' || c.column_name as name, c.table_name, c.column_name
     from information_schema.columns c join pg_class t on t.oid = c.table_name::regclass
     where c.table_schema = 'public' and c.data_type = 'jsonb' and not t.relispartition`,
  )
  const names: string[] = []
  for (const { name, table_name: table, column_name: column } of columns) {
    if (opaqueColumns.has(name)) continue
    const { rows } = await pool.query<{ value: unknown }>(
      `select distinct "${column}" as value from "${table}" where "${column}" is not null limit ${rowsMax}`,
    )
    names.push(...rows.flatMap(({ value }) => keysOf(value, name)))
  }
  for (const name of wordColumns) {
    const [table, column] = name.split('.')
    const { rows } = await pool.query<{ value: string }>(
      `select distinct "${column}" as value from "${table}" where "${column}" is not null limit ${rowsMax}`,
    )
    names.push(...rows.map(({ value }) => `${name} = ${shapeOf(value)}`))
  }
  return [...new Set(names)]
}

/** The file in which the names of one test file are kept. */
export const namesFileOf = (testFile: string): string => testFile.replaceAll('/', '+')

/** Where npm test waits for it, the names in the database are kept for the comparison with the golden file. */
export const keepStoredNames = async (pool: Pool): Promise<void> => {
  const file = join(process.env['POHF_STORED_NAMES'] ?? '', namesFileOf(process.argv[1] ?? ''))
  if (!existsSync(file)) return
  const names = await storedNames(pool)
  appendFileSync(file, names.map((name) => `${name}\n`).join(''))
}
