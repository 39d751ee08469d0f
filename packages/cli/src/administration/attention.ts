import { CommandError, UsageError, messageOf } from '../command/errors.ts'
import { exitCodes } from '../command/exit-codes.ts'
import { requireServer } from '../command/missing-server.ts'
import { printJson } from '../command/operator.ts'
import { printAnswer } from '../command/output.ts'
import { withProgress } from '../command/progress.ts'

type Json = { readonly json?: boolean }

/** Loaded on demand: the server is not part of every installation of the command line. */
const loadServer = () => {
  requireServer()
  return import('@pohf/server/attention')
}

/** Says what to do about an error of either database. */
const attempt = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
  try {
    return await withProgress(what, work)
  } catch (error) {
    if (error instanceof CommandError) throw error
    throw new CommandError(messageOf(error) || 'ClickHouse does not answer', {
      code: 'attention_failed',
      fix: 'Run it with the settings of the server, while both databases answer; pohf doctor looks at both.',
      cause: error,
    })
  }
}

const requireClusterName = (cluster: string | undefined): void => {
  if (cluster !== undefined && !/^[A-Za-z_][A-Za-z0-9_-]{0,62}$/.test(cluster))
    throw new UsageError(
      `${cluster} is not the name of a cluster`,
      'SELECT cluster FROM system.clusters lists them.',
    )
}

/** `pohf attention schema`. */
export const schema = async (options: Json & { cluster?: string; apply?: true }): Promise<void> => {
  const { applySchema, readSchema } = await loadServer()
  const { cluster } = options
  requireClusterName(cluster)
  const url = process.env['CLICKHOUSE_URL']
  if (options.apply) {
    const statements = await attempt('making tables', () => applySchema(url, cluster))
    printAnswer(options, { ok: true, statements }, () => console.log(`${statements} statements run.`))
    return
  }
  const statements = readSchema(url, cluster)
  printAnswer(options, { ok: true, statements }, () =>
    console.log(statements.map((statement) => `${statement};\n`).join('\n')),
  )
}

const positive = (text: string, name: string): number => {
  const number = Number(text)
  if (!Number.isSafeInteger(number) || number < 1)
    throw new UsageError(`${name} must be a whole number from 1 on`)
  return number
}

/** `pohf attention inspect`. */
export const compareStored = async (options: Json & { batches: string }): Promise<void> => {
  const server = await loadServer()
  const batches = positive(options.batches, '--batches')
  const found = await attempt('comparing', () => server.compareStored(batches))
  printJson(options, found)
  if (!found.ok) process.exitCode = exitCodes.refused
}

const monthOf = (text: string): number => {
  if (!/^20\d\d(0[1-9]|1[0-2])$/.test(text)) throw new UsageError(`${text} is not a month, such as 202611`)
  return Number(text)
}

/** `pohf attention rebuild`. */
export const rebuild = async (options: Json & { months?: string[] }): Promise<void> => {
  const server = await loadServer()
  const months = options.months?.map(monthOf)
  const rebuilt = await attempt('counting again', () => server.rebuild(months))
  printJson(options, { ok: true, rebuilt })
}

/** `pohf attention backfill`. */
export const backfill = async (options: Json & { to: 'clickhouse' | 'postgresql' }): Promise<void> => {
  const server = await loadServer()
  const copied = await attempt('copying', () =>
    server.backfill(options.to, ({ kind, rows, to }) => {
      if (!options.json) console.error(`${rows} ${kind} copied, up to ${to}`)
    }),
  )
  printJson(options, { ok: true, ...copied })
}

/** `pohf attention erase`. */
export const erase = async (agentId: string, options: Json & { session?: string }): Promise<void> => {
  const server = await loadServer()
  const erasureId = await attempt('erasing', () => server.erase(agentId, options.session ?? null))
  printJson(options, { ok: true, erasureId })
}
