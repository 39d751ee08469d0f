import type { Ctx } from '../../platform/ops/context.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { JournalHead } from '../journal.ts'
import type { Signer } from '../signer-client.ts'
import type { DatabasePosition } from '../timelines.ts'
import {
  compareWithSigners,
  witnessedHead,
  reportHeads,
  type RestoreFinding,
  type SeenJournals,
} from './compare.ts'
import type { SignerState } from './signer-records.ts'

/** Heads of journals that were seen outside: in published status lists. */
type ListSeenHeads = () => Promise<readonly JournalHead[]>

const retryAfterSeconds = 30
export const restorePending = (cause?: unknown): Refusal =>
  new Refusal('restore_pending', { headers: { 'retry-after': String(retryAfterSeconds) }, cause })

/** A comparison is renewed after this time, and at once where a connection was opened or lost. */
const validMs = 5_000
/** While the next comparison runs, the last one counts up to this age: a signer that hangs must not hold up every write. */
const usableMs = 10_000
/** While a restore is pending, its end is noticed within this time. */
const pendingMs = 500

type GuardDeps = {
  readonly ctx: Ctx
  readonly signer: Signer
  /** Heads in the published status lists: those that are stored, and copies outside. */
  readonly listSeenHeads: ListSeenHeads
  /** Called when a restore is first seen to be pending. */
  readonly onPending: () => void
}

/** What this process has seen: the heads in published lists, and the last state of each signer. */
const makeMemory = ({ signer, listSeenHeads }: Pick<GuardDeps, 'signer' | 'listSeenHeads'>) => {
  let published: readonly JournalHead[] | undefined
  const states = new Map<string, SignerState>()
  const remember = (seen: readonly SignerState[]): void => {
    for (const state of seen) states.set(state.signer, state)
  }
  return {
    remember,
    isEmpty: () => states.size === 0,
    forgetPublished: (): void => {
      published = undefined
    },
    forgetStates: (): void => states.clear(),
    read: async (): Promise<SeenJournals> => {
      published ??= await listSeenHeads()
      if (states.size === 0) remember(await signer.states())
      const known = [...states.values()]
      return {
        heads: [...published, ...known.flatMap(({ peers }) => peers)],
        inMemory: known.map(witnessedHead),
      }
    },
  }
}

/** Compares, and keeps what the last comparison found. */
const makeComparison = (deps: GuardDeps) => {
  const { ctx, signer } = deps
  const memory = makeMemory(deps)
  let findings: readonly RestoreFinding[] = []
  let database: DatabasePosition | undefined
  let restoredAt: number | undefined
  /** Why no signer answered the last comparison; undefined where one did. */
  let failure: Refusal | undefined

  /** Where no signer answers, the database is compared with what this process remembers of them. */
  const states = async (): Promise<SignerState[]> => {
    try {
      const answered = await signer.states()
      failure = undefined
      return answered
    } catch (error) {
      if (!(error instanceof Refusal) || memory.isEmpty()) throw error
      failure = error
      return []
    }
  }
  const compareOnce = async () => compareWithSigners({ ctx, signer: { states } }, await memory.read())
  const compare = async (): Promise<void> => {
    let result = await compareOnce()
    if (restoredAt !== undefined && result.restoredAt > restoredAt) {
      // A restore was completed, perhaps through another process: it has settled what this one remembers.
      memory.forgetStates()
      result = await compareOnce()
    }
    restoredAt = result.restoredAt
    // Only a signer can show that a restore has ended.
    if (failure && findings.length > 0) return
    memory.remember(result.states)
    logChange(deps, findings, result.findings)
    findings = result.findings
    ctx.metrics.restorePending.set(findings.length > 0 ? 1 : 0)
    database = result.database
    if (findings.length === 0) signer.acknowledge(result.unreported)
    // Nobody waits for it: the next comparison reports again.
    reportHeads(signer, result.states).catch((error: unknown) =>
      ctx.log.debug({ err: error }, 'heads of journals not reported'),
    )
  }
  return {
    compare,
    findings: () => findings,
    database: () => database,
    failure: () => failure,
    /** Reads the published lists and the states of the signers again, and returns all that was seen of the journals. */
    seen: async (): Promise<SeenJournals> => {
      memory.forgetPublished()
      memory.remember(await signer.states())
      return memory.read()
    },
  }
}

const logChange = (
  { ctx, onPending }: GuardDeps,
  before: readonly RestoreFinding[],
  findings: readonly RestoreFinding[],
): void => {
  if (findings.length > 0 && before.length === 0) {
    onPending()
    const parts = findings.map(({ part, signer: id }) => ({ part, signer: id }))
    ctx.log.error(
      { findings: parts },
      'the database or a journal is from the past; minting and state changes stop until pohf restore apply',
    )
  }
  if (findings.length === 0 && before.length > 0)
    ctx.log.warn({ findings: before.length }, 'restore completed; minting continues')
}

/** Says when the next comparison is due, and lets all who wait share it. */
const makeSchedule = (ctx: Ctx, { compare, findings }: ReturnType<typeof makeComparison>) => {
  let comparedAt = -Infinity
  let connections = -1
  let running: Promise<void> | undefined
  const renew = async (): Promise<void> => {
    const before = ctx.db.connectionChanges()
    await compare()
    connections = Math.max(before, connections)
    comparedAt = performance.now()
  }
  const start = (): Promise<void> =>
    (running ??= renew().finally(() => {
      running = undefined
    }))
  const isOnSameConnections = (): boolean => connections === ctx.db.connectionChanges()
  const isYoungerThan = (ms: number): boolean => performance.now() - comparedAt < ms && isOnSameConnections()
  const update = async (): Promise<void> => {
    if (isYoungerThan(findings().length > 0 ? pendingMs : validMs)) return
    const next = start()
    if (findings().length === 0 && isYoungerThan(usableMs)) {
      next.catch((error: unknown) => ctx.log.debug({ err: error }, 'signers not compared'))
      return
    }
    await next
    // A connection that was opened meanwhile may lead to another database, and so may the one after a loss.
    if (!isOnSameConnections()) await start()
  }
  return {
    update,
    renew: start,
    /**
     * Renews the comparison. If that is refused, the last comparison still counts, as long as the connections are the same.
     */
    updateIfPossible: async (): Promise<void> => {
      try {
        await update()
      } catch (error) {
        if (!(error instanceof Refusal) || !isOnSameConnections()) throw error
      }
    },
  }
}

/** Fails where no signer answers, also if the last comparison went by memory. */
const requireAnswer = async (
  comparison: ReturnType<typeof makeComparison>,
  schedule: ReturnType<typeof makeSchedule>,
): Promise<void> => {
  const before = comparison.failure()
  await schedule.update()
  if (before && before === comparison.failure()) await schedule.renew()
  const failure = comparison.failure()
  if (failure) throw failure
}

/**
 * Stops minting and state changes while the database or a journal is from the past. It compares them at the start, after
 * each new connection to the database, and every few seconds; the mint itself compares again in its own statement.
 */
export const makeRestoreGuard = (deps: GuardDeps) => {
  const comparison = makeComparison(deps)
  const schedule = makeSchedule(deps.ctx, comparison)
  const refuse = (): void => {
    if (comparison.findings().length > 0) throw restorePending()
  }
  return {
    /** For a mint: fails where the comparison fails. Returns the database that the mint goes to. */
    checkMint: async (): Promise<DatabasePosition> => {
      await requireAnswer(comparison, schedule)
      refuse()
      const database = comparison.database()
      if (!database)
        throw new Error(
          `the database was compared (${comparison.findings().length} findings) and has no identity`,
        )
      return database
    },
    /** For any other change. */
    checkWrite: async (): Promise<void> => {
      await schedule.updateIfPossible()
      refuse()
    },
    /**
     * For readiness. Where nothing can be compared, the checks of the database or of the signer fail. It waits for the first
     * comparison alone: later ones take several statements, and a slow path must not make a process unready.
     */
    checkFindings: async (): Promise<void> => {
      const updating = schedule.update().catch((error: unknown) => {
        if (!(error instanceof Refusal)) deps.ctx.log.error({ err: error }, 'signers not compared')
      })
      if (comparison.database() === undefined) await updating
      refuse()
    },
    /** Also true while the database could not be compared. */
    isPending: async (): Promise<boolean> => {
      try {
        await schedule.updateIfPossible()
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        return true
      }
      return comparison.findings().length > 0
    },
    /** Compares again now, also with what is published. */
    compareAgain: async (): Promise<readonly RestoreFinding[]> => {
      await comparison.seen()
      await comparison.compare()
      return comparison.findings()
    },
    seen: comparison.seen,
    /** The database that was compared last. */
    database: comparison.database,
  }
}
export type RestoreGuard = ReturnType<typeof makeRestoreGuard>
