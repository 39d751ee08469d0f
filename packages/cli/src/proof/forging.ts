import { forgingEntries, readForgingTable, type ForgingTable, type TableOptions } from '@pohf/verify'
import { CommandError, messageOf, UsageError } from '../command/errors.ts'
import { exitCodes } from '../command/exit-codes.ts'
import { readJson } from '../command/files.ts'
import { printAnswer } from '../command/output.ts'
import { withProgress } from '../command/progress.ts'

type ForgingOptions = {
  readonly issuer: string
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

const print = (table: ForgingTable): void => {
  console.log(`What 1,000 forged credentials of ${table.iss} cost, as of ${dateOf(table.iat)}.`)
  console.log(`An estimate, not a warranty: cheaper ways may exist. It expires on ${dateOf(table.exp)}.\n`)
  for (const { root, assurance, kind, costPer1000, class: name, family } of table.entries)
    console.log(
      `${name}  ${root.padEnd(14)} ${assurance.padEnd(11)} ${(kind === '*' ? 'any kind' : kind).padEnd(10)} about ${costPer1000} USD or more (${family})`,
    )
  console.log(
    isReproducible(table)
      ? '\nComputed again from the published inputs: the same.'
      : '\nComputed again from the published inputs: NOT the same.',
  )
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
  printAnswer(options, result.table, () => print(result.table))
  if (!isReproducible(result.table)) process.exitCode = exitCodes.refused
}
