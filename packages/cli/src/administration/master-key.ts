import { CommandError, messageOf } from '../command/errors.ts'
import { requireServer } from '../command/missing-server.ts'
import { printAnswer, tableOf } from '../command/output.ts'
import { withProgress } from '../command/progress.ts'

type Options = { readonly json?: boolean }

/** Loaded on demand: it imports the server, which would slow down every other command. */
const loadServer = () => {
  requireServer()
  return import('@pohf/server/master-key')
}
type Server = Awaited<ReturnType<typeof loadServer>>

const attempt = async <T>(server: Server, text: string, work: () => Promise<T>): Promise<T> => {
  try {
    return await withProgress(text, work)
  } catch (error) {
    if (error instanceof server.RotationRefused)
      throw new CommandError(error.message, { code: 'rotation_refused', fix: error.fix, cause: error })
    throw new CommandError(messageOf(error), {
      code: 'rotation_failed',
      fix: 'Run it as the user of the service, with its settings, and run it again: it continues where it ended.',
      cause: error,
    })
  }
}

/** `pohf keys master add`. */
export const addVersion = async (options: Options): Promise<void> => {
  const server = await loadServer()
  const added = await attempt(server, 'adding a version', server.addVersion)
  printAnswer(options, added, () =>
    console.log(
      `${added.file} has version ${added.version}. Nothing is sealed under it yet.\nCopy the file to every machine with an api or a worker, and to your backup. Then run pohf keys rewrap.`,
    ),
  )
}

const hoursText = (hours: number): string => (hours < 48 ? `${hours} h` : `${hours / 24} days`)

type Purpose = ReturnType<Server['describePurposes']>[number]
const effectOf = ({ how, why, hours }: Purpose): string => {
  if (how === 'kept') return why ?? ''
  if (how === 'expires')
    return hours === 0
      ? 'new values use the new version'
      : `new values use the new version; older ones are accepted for ${hoursText(hours ?? 0)}`
  return how === 'recomputed' ? 'each version has its own' : ''
}

type Progress = { readonly column: string; readonly readRows: number; readonly moved: number }
const showProgress = (columns: readonly Progress[]): void => {
  if (!process.stderr.isTTY) return
  const text = columns.map(({ column, moved, readRows }) => `${column}: ${moved} of ${readRows}`)
  process.stderr.write(`\r\u001b[K${text.join(', ')}`)
}
const timeOf = (time: Date | null): string | null => time?.toISOString() ?? null

/** `pohf keys rewrap`. */
export const rewrap = async (options: Options): Promise<void> => {
  const server = await loadServer()
  const { version, columns } = await attempt(server, 'waiting for the processes', () =>
    server.rewrap(showProgress),
  )
  const purposes = server.describePurposes().map((purpose) => {
    const own = columns.filter(({ column }) => purpose.columns.some((name) => name === column))
    const sum = (of: (column: (typeof columns)[number]) => number): number | null =>
      own.length === 0 ? null : own.reduce((total, column) => total + of(column), 0)
    return {
      purpose: purpose.purpose,
      how: purpose.how,
      moved: sum(({ moved }) => moved),
      remaining: sum(() => 0),
      unreadable: sum(({ unreadable }) => unreadable),
      effect: effectOf(purpose),
    }
  })
  printAnswer(options, { version, purposes }, () => {
    console.log(
      tableOf(
        ['purpose', 'rotation', 'moved', 'remaining', 'unreadable', 'effect'],
        purposes.map(({ purpose, how, moved, remaining, unreadable, effect }) => [
          purpose,
          how,
          moved,
          remaining,
          unreadable,
          effect,
        ]),
      ),
    )
    console.log(
      `\nEvery sealed value is under version ${version}. pohf keys master show says when the one before can be retired.`,
    )
  })
}

/** `pohf keys master show`. */
export const showVersions = async (options: Options): Promise<void> => {
  const server = await loadServer()
  const state = await attempt(server, 'reading the versions', server.showVersions)
  printAnswer(options, state, () => {
    console.log(
      tableOf(
        ['version', 'added', 'seals since', 'rewrapped', 'retired'],
        state.versions.map(({ version, addedAt, sealsSince, rewrappedAt, retiredAt }) => [
          version,
          timeOf(addedAt),
          timeOf(sealsSince),
          timeOf(rewrappedAt),
          timeOf(retiredAt),
        ]),
      ),
    )
    console.log('')
    console.log(
      tableOf(
        ['process', 'machine', 'versions', 'seals under'],
        state.holders.map(({ role, host, versions, sealing }) => [role, host, versions.join(', '), sealing]),
      ),
    )
    if (state.retirableAt)
      console.log(`\nOlder versions can be retired from ${state.retirableAt.toISOString()}.`)
  })
}

/** `pohf keys master retire`. */
export const retire = async (options: Options & { readonly atOnce?: true }): Promise<void> => {
  const server = await loadServer()
  const done = await attempt(server, 'retiring', () => server.retire(options.atOnce === true))
  printAnswer(options, done, () =>
    console.log(
      `${done.file} holds version ${done.version} and the keys that are kept. Versions that are retired: ${done.retired.join(', ') || 'none'}.\nCopy the file to every machine with an api or a worker, and to your backup.`,
    ),
  )
}
