import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { ForgingFile } from '../../packages/protocol/src/index.ts'
import type { ForgingEntry, PricedKind } from '../../packages/verify/src/index.ts'
import type { PriceRow } from './price-rows.ts'

type Combination = { readonly kind: PricedKind; readonly roots: readonly string[] }
type Recomputed = {
  readonly entries: readonly ForgingEntry[]
  readonly combinations: readonly (Combination & Omit<PriceRow, 'level'>)[]
}

/** Runs the program that computes a table again in another language, from its inputs alone. */
const recompute = (
  { inputs }: Pick<ForgingFile, 'inputs'>,
  combinations: readonly Combination[],
): Recomputed => {
  const { status, stdout, stderr } = spawnSync(
    'python3',
    [join(import.meta.dirname, 'recompute-prices.py')],
    {
      input: JSON.stringify({ inputs, combinations }),
      encoding: 'utf8',
      timeout: 60_000,
    },
  )
  if (status !== 0) throw new Error(`recompute-prices.py ended with ${status}: ${stderr.slice(-1_000)}`)
  return JSON.parse(stdout) as Recomputed
}

const pricesOf = ({ roots, actsB, acts10, acts1, humans }: Omit<PriceRow, 'level'>) => ({
  roots,
  actsB,
  acts10,
  acts1,
  humans,
})

/** Whether an independent computation from the published inputs gives the published entries and these rows. */
export const isRecomputed = (table: ForgingFile, kind: PricedKind, rows: readonly PriceRow[]): boolean => {
  const again = recompute(
    table,
    rows.map(({ roots }) => ({ kind, roots })),
  )
  return (
    isDeepStrictEqual(again.entries, table.entries) &&
    isDeepStrictEqual(again.combinations.map(pricesOf), rows.map(pricesOf))
  )
}
