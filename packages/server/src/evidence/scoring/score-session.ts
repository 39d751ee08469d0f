import type { UnscoredReason } from '@pohf/protocol/reasons'
import { addServerFlag, type FlagName, type SessionScore } from '@pohf/scorer'
import { inputModel } from '@pohf/scorer/input-model'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { runBisected } from '../../platform/queue/coalesce.ts'
import { ThreadTaskError } from '../../platform/queue/thread.ts'
import type { Job } from '../../platform/queue/worker.ts'
import {
  faultFlags,
  findClosedRecording,
  listClosedSessions,
  makeRecordingScorer,
  openSubjectKey,
  updateSessionsScored,
  type ClosedRecording,
  type RecordingScorer,
  type ScoredRecording,
  type ScoringInput,
  type Session,
  type SessionRowKey,
  type SessionScoreUpdate,
} from '../../sessions/index.ts'
import { makeFindCalibration, type FindCalibration } from './calibrations.ts'
import { evidenceItem } from '../proof.ts'
import { publishScores } from './publish-scored.ts'
import { isKnownReplay, storeSketches } from './replay.ts'
import { dropOldSketches } from './store.ts'

/**
 * A session that cannot be scored is rejected with the reason, so that it does not stay closed for ever. One whose key cannot
 * be opened does: the master key may be the wrong one.
 */
type Unscorable = { readonly unscorable: UnscoredReason }
type PreparedScore = { readonly rowKey: SessionRowKey; readonly result: ScoredRecording | Unscorable }

const unscorableScore = {
  quality: 0,
  verified: false,
  assurance: 'low',
  components: { focus: null, probe: null, input: null, gaze: null, device: null, history: null },
  flags: ['insufficient_evidence'],
} as const

/** Injected by the wiring: the history of the worker whose work this session records; undefined for any other session. */
type FindHistory = (tx: Tx, session: Session) => Promise<History | undefined>
type History = ScoringInput['history']
const noHistory: History = { good: 0, bad: 0 }

type ScoringDeps = {
  readonly ctx: Ctx
  readonly findCalibration: FindCalibration
  readonly findHistory: FindHistory
  readonly scorer: RecordingScorer
}

/** Only recorded work has a history. */
const findHistories = async (
  { ctx, findHistory }: ScoringDeps,
  closed: readonly ClosedRecording[],
): Promise<ReadonlyMap<string, History>> => {
  const work = closed.filter(({ session }) => session.kind === 'work')
  const histories = new Map<string, History>()
  if (work.length === 0) return histories
  return inTransaction(ctx, 'system', async (tx) => {
    for (const { session } of work)
      histories.set(session.sessionId, (await findHistory(tx, session)) ?? noHistory)
    return histories
  })
}

const inputOf = (
  { ctx, findCalibration }: ScoringDeps,
  { session, client, faults, sealedKey, ciphertexts }: ClosedRecording,
  history: History,
): ScoringInput | undefined => {
  const { sessionId, kind } = session
  if (kind === 'presence') throw new Error(`session ${sessionId} is a presence session and has no recording`)
  if (sealedKey === null || !ciphertexts) return undefined
  const known: FlagName[] = [
    ...faultFlags(faults),
    ...(client.automated ? (['automation_env'] as const) : []),
  ]
  const calibration = findCalibration(client.platform)
  const subjectKey = openSubjectKey(ctx.secrets, sealedKey)
  return { sessionId, subjectKey, ciphertexts, kind, history, known, calibration }
}

/** Scores on the thread, without what other sessions show. Undefined where it may succeed later. */
const prepare = async (
  deps: ScoringDeps,
  closed: ClosedRecording,
  history: History,
): Promise<PreparedScore | undefined> => {
  const { rowKey } = closed
  const { log } = deps.ctx
  const { sessionId } = rowKey
  try {
    const input = inputOf(deps, closed, history)
    return { rowKey, result: input ? await deps.scorer.run(input) : { unscorable: 'records_gone' } }
  } catch (error) {
    if (error instanceof ThreadTaskError) {
      log.error({ err: error, sessionId }, 'session scoring failed; it counts as not scorable')
      return { rowKey, result: { unscorable: 'scoring_failed' } }
    }
    log.warn({ err: error, sessionId }, 'session scoring failed; the worker retries it')
    return undefined
  }
}

const updateOf = (
  rowKey: SessionRowKey,
  scored: SessionScore | Unscorable,
  salt: Buffer,
): SessionScoreUpdate => {
  if ('unscorable' in scored) {
    const verdict = { ...unscorableScore, reasons: [scored.unscorable] }
    return { rowKey, ...verdict, scoring: inputModel.version, evidence: [], counted: null, salt }
  }
  const counted = { ...scored.evidence, observations: [...scored.observations] }
  const evidence = [evidenceItem(salt, 'telemetry', { session: rowKey.sessionId, counted })]
  return { ...scored, rowKey, evidence, counted, salt }
}

/** Compares with other sessions, and stores scores and events; returns the sessions that were not scored before. */
const storeScores = async (tx: Tx, prepared: readonly PreparedScore[]): Promise<Session[]> => {
  const updates: SessionScoreUpdate[] = []
  for (const { rowKey, result } of prepared) {
    const salt = Buffer.from(tx.ids.random(), 'base64url')
    if ('unscorable' in result) updates.push(updateOf(rowKey, result, salt))
    else {
      const isReplayed = await isKnownReplay(tx, rowKey, result.sketches)
      const scored = isReplayed ? addServerFlag(result.sessionScore, 'replay_match') : result.sessionScore
      updates.push(updateOf(rowKey, scored, salt))
    }
  }
  const sessions = await updateSessionsScored(tx, updates)
  const scored = new Set(sessions.map(({ sessionId }) => sessionId))
  await publishScores(
    tx,
    updates
      .filter(({ rowKey }) => scored.has(rowKey.sessionId))
      .map(({ rowKey: key, ...verdict }) => ({ key, verdict })),
  )
  return sessions
}

/**
 * Scores closed sessions, each once; returns those that no other process scored. Their sketches are committed before others
 * are compared: of two copies that close at the same moment at least one finds the other.
 */
const scoreClosed = async (deps: ScoringDeps, closed: readonly ClosedRecording[]): Promise<Session[]> => {
  const histories = await findHistories(deps, closed)
  const results = await Promise.all(
    closed.map((one) => prepare(deps, one, histories.get(one.session.sessionId) ?? noHistory)),
  )
  const prepared = results.flatMap((result) => result ?? [])
  const sketched = prepared.flatMap(({ rowKey: key, result }) =>
    'sketches' in result && result.sketches.length > 0 ? [{ key, sketches: result.sketches }] : [],
  )
  if (sketched.length > 0) await inTransaction(deps.ctx, 'system', (tx) => storeSketches(tx, sketched))
  return inTransaction(deps.ctx, 'system', (tx) => storeScores(tx, prepared))
}

const batchMax = 50
/** After this time the call that closed a session does not score it any more, or its process has ended. */
const retryAgeSeconds = 5

/** Scoring on close, and the jobs that retry it. Calibrations are read once, at the start. */
export const makeScoring = (ctx: Ctx, findHistory: FindHistory) => {
  const scorer = makeRecordingScorer()
  const findCalibration = makeFindCalibration(ctx.config.CALIBRATIONS_FILE)
  const deps = { ctx, findCalibration, findHistory, scorer }
  /** Scores sessions. A batch that fails is bisected, so that only the session at fault is not scored. */
  const scoreAll = async (closed: readonly ClosedRecording[]): Promise<Session[]> => {
    const outcomes = await runBisected(
      closed,
      async (part) => {
        const sessions = new Map((await scoreClosed(deps, part)).map((one) => [one.sessionId, one]))
        return part.map(({ session }) => ({ value: sessions.get(session.sessionId) }))
      },
      (error) => error instanceof Refusal,
    )
    return outcomes.flatMap((outcome, index) => {
      if ('value' in outcome) return outcome.value ?? []
      const sessionId = closed[index]?.session.sessionId
      ctx.log.warn({ err: outcome.error, sessionId }, 'session scoring failed; the worker retries it')
      return []
    })
  }
  // Each run goes on behind the last, and then from the start, so that sessions that fail do not keep newer ones from a retry.
  let after: SessionRowKey | undefined
  const scoreWaiting = async (): Promise<number> => {
    const closedKeys = await inTransaction(ctx, 'system', (tx) =>
      listClosedSessions(tx, { limit: batchMax, ageSeconds: retryAgeSeconds, after }),
    )
    after = closedKeys.length < batchMax ? undefined : closedKeys.at(-1)
    let scoredCount = 0
    for (const key of closedKeys) {
      const closed = await inTransaction(ctx, 'system', (tx) => findClosedRecording(tx, key))
      if (closed) scoredCount += (await scoreAll([closed])).length
    }
    return scoredCount
  }
  const jobs: Job[] = [
    // Closed sessions without a score: a process ended in between, or the database was unavailable.
    { name: 'session scores', everyMs: 2_000, run: scoreWaiting },
    {
      name: 'stroke retention',
      everyMs: 600_000,
      run: async () => {
        await inTransaction(ctx, 'system', (tx) => dropOldSketches(tx, ctx.config.TELEMETRY_KEEP_DAYS))
        return 0
      },
    },
  ]
  return {
    jobs,
    /** So that the first session does not wait for the thread to start. */
    start: scorer.start,
    /** The sessions stay closed, so a failure here does not fail their calls: the job scores them later. */
    scoreClosed: async (closed: readonly ClosedRecording[]): Promise<ReadonlyMap<string, Session>> =>
      new Map((await scoreAll(closed)).map((session) => [session.sessionId, session])),
  }
}
