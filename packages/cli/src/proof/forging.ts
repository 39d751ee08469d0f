import {
  forgingEntries,
  readForgingTable,
  type ForgingPrice,
  type ForgingTable,
  type TableOptions,
} from '@pohf/verify'
import { CommandError, messageOf, UsageError } from '../command/errors.ts'
import { exitCodes } from '../command/exit-codes.ts'
import { readJson } from '../command/files.ts'
import { printAnswer } from '../command/output.ts'
import { withProgress } from '../command/progress.ts'

type ForgingOptions = {
  readonly issuer: string
  readonly kind: string
  readonly forgingTable?: string
  readonly jwks?: string
  readonly json?: boolean
}

/** The signed table in a file that holds the answer of /.well-known/pohf-forging.json. */
export const readTableFile = (path: string): string => {
  const content = readJson(path)
  const table =
    typeof content === 'object' && content !== null && 'table' in content ? content.table : undefined
  if (typeof table !== 'string')
    throw new UsageError(
      `${path} does not hold the answer of /.well-known/pohf-forging.json`,
      'Save that answer whole, as the service sends it.',
    )
  return table
}

const dateOf = (seconds: number): string => new Date(seconds * 1_000).toISOString().slice(0, 10)

/** Whether the published inputs give the published entries. */
const isReproducible = ({ entries, inputs }: ForgingTable): boolean =>
  JSON.stringify(forgingEntries(inputs)) === JSON.stringify(entries)

const priceText = (price: ForgingPrice): string =>
  price === 'named' ? 'named' : `${price.class} ${price.usd}`
const lineOf = (cells: readonly string[]): string =>
  cells
    .map((cell, column) => cell.padEnd([16, 12, 10, 10, 10][column] ?? 0))
    .join(' ')
    .trimEnd()

const print = (table: ForgingTable, kind: string): void => {
  console.log(
    `What 1,000 forged credentials of ${table.iss} cost in USD, as of ${dateOf(table.iat)}, kind ${kind}.`,
  )
  console.log(`An estimate, not a warranty: cheaper ways may exist. It expires on ${dateOf(table.exp)}.\n`)
  console.log(lineOf(['root', 'level', 'acts', '10 a day', '1 a day', 'people']))
  for (const { root, level, actsB, acts10, acts1, humans } of table.entries.filter(
    (entry) => entry.kind === kind,
  ))
    console.log(lineOf([root, level, ...[actsB, acts10, acts1, humans].map(priceText)]))
  console.log(
    isReproducible(table)
      ? '\nComputed again from the published inputs: the same.'
      : '\nComputed again from the published inputs: NOT the same.',
  )
}

/** The kinds that have prices. */
const requireKind = ({ entries }: ForgingTable, kind: string): void => {
  const kinds = [...new Set(entries.map((entry): string => entry.kind))]
  if (!kinds.includes(kind))
    throw new UsageError(`The table has no prices of the kind ${kind}.`, `Its kinds: ${kinds.join(', ')}.`)
}

/** `pohf forging`. */
export const showForging = async (options: ForgingOptions): Promise<void> => {
  const read = async () => {
    const given: TableOptions = {
      issuer: options.issuer,
      ...(options.forgingTable === undefined ? {} : { forging: readTableFile(options.forgingTable) }),
      ...(options.jwks === undefined ? {} : { jwks: readJson(options.jwks) as TableOptions['jwks'] }),
    }
    return readForgingTable(given)
  }
  const result = await withProgress(`reading the table of ${options.issuer}`, read).catch(
    (error: unknown) => {
      if (error instanceof UsageError) throw error
      throw new UsageError(messageOf(error), 'Correct the option: pohf forging --help lists them.', error)
    },
  )
  if (!result.ok)
    throw new CommandError(result.message, {
      code: result.reason,
      fix: 'Check --issuer. The operator of the service renews the table with FORGING_FILE or a newer version.',
    })
  requireKind(result.table, options.kind)
  printAnswer(options, result.table, () => print(result.table, options.kind))
  if (!isReproducible(result.table)) process.exitCode = exitCodes.refused
}
