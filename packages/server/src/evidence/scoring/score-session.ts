import {
  deviceScores,
  historyScore,
  readMouseMotion,
  scoreSession,
  type FlagName,
  type ReplayDescriptor,
  type SessionScore,
} from '@pohf/scorer'
import { inputModel } from '@pohf/scorer/input-model'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction, readNow, type Tx } from '../../platform/db/db.ts'
import { isAttentionChallenge } from '../../members/index.ts'
import type { Job } from '../../platform/queue/worker.ts'
import type { Roots } from '../../roots/index.ts'
import {
  listClosedSessions,
  readRecords,
  updateSessionScored,
  type DecryptedSession,
  type Session,
  type SessionRowKey,
} from '../../sessions/index.ts'
import { makeFindCalibration, type FindCalibration } from './calibrations.ts'
import { evidenceItem } from '../proof.ts'
import { publishSessionScore } from './publish-scored.ts'
import { isKnownReplay, sketchesOf, storeSketches } from './replay.ts'
import { dropOldSketches } from './store.ts'

/** A session that cannot be scored is rejected with the reason, so that it does not stay closed for ever. */
type Unscorable = { readonly unscorable: 'records_gone' | 'scoring_failed' }
/** Where a session that passes holds its places. */
type ScoringRoots = Pick<Roots, 'reserve'>
type LoadedRecording = { readonly opened: DecryptedSession; readonly sketches: readonly ReplayDescriptor[] }

const unscorableScore = {
  quality: 0,
  verified: false,
  assurance: 'low',
  components: { focus: null, probe: null, input: null, gaze: null, device: null, history: null },
  flags: ['insufficient_evidence'],
} as const

const loadRecording = async (tx: Tx, ctx: Ctx, key: SessionRowKey): Promise<LoadedRecording | Unscorable> => {
  const opened = await readRecords(tx, ctx, key)
  if (!opened) return { unscorable: 'records_gone' }
  return { opened, sketches: sketchesOf(readMouseMotion(opened.records)) }
}

/** The acts of a person for one agent: paid, accepted and not refunded, and those that were refused. */
type History = { readonly good: number; readonly bad: number }
/** Injected by the wiring: the history of the worker whose work this session records; undefined for any other session. */
type FindHistory = (tx: Tx, session: Session) => Promise<History | undefined>
const noHistory: History = { good: 0, bad: 0 }

type ScoringDeps = {
  readonly ctx: Ctx
  readonly roots: ScoringRoots
  readonly findCalibration: FindCalibration
  readonly findHistory: FindHistory
}
type ServerFacts = { readonly replayed: boolean; readonly history: History }

const scoreRecording = (
  opened: DecryptedSession,
  { replayed, history }: ServerFacts,
  findCalibration: FindCalibration,
): SessionScore => {
  const { session, client, records } = opened
  if (session.kind === 'presence')
    throw new Error(`session ${session.sessionId} is a presence session and has no recording`)
  const known: FlagName[] = [
    ...opened.flags,
    ...(client.automated ? (['automation_env'] as const) : []),
    ...(replayed ? (['replay_match'] as const) : []),
  ]
  const context = {
    kind: session.kind,
    // A page's key proves nothing about the person or the device; members and attested devices do.
    device: deviceScores.none,
    history: historyScore(history.good, history.bad),
    known,
    answerCorrect: null,
    calibration: findCalibration(client.platform),
  }
  return scoreSession(records, context, inputModel)
}

const storeScore = async (
  tx: Tx,
  key: SessionRowKey,
  scored: SessionScore | Unscorable,
): Promise<boolean> => {
  const salt = Buffer.from(tx.ids.token(), 'base64url')
  if ('unscorable' in scored) {
    const verdict = { ...unscorableScore, reasons: [scored.unscorable] }
    const result = { ...verdict, scoring: inputModel.version, evidence: [], counted: null, salt }
    if (!(await updateSessionScored(tx, key, result))) return false
    await publishSessionScore(tx, key, verdict)
    return true
  }
  const counted = { ...scored.evidence, observations: [...scored.observations] }
  const evidence = [evidenceItem(salt, 'telemetry', { session: key.sessionId, counted })]
  if (!(await updateSessionScored(tx, key, { ...scored, evidence, counted, salt }))) return false
  await publishSessionScore(tx, key, scored)
  return true
}

/**
 * Scores a closed session, once; false when another process did. Its sketches are committed before others are
 * compared: of two copies that close at the same moment at least one finds the other.
 */
const scoreClosed = async (
  { ctx, roots, findCalibration, findHistory }: ScoringDeps,
  key: SessionRowKey,
): Promise<boolean> => {
  const ready = await inTransaction(ctx, 'system', async (tx) => {
    const found = await loadRecording(tx, ctx, key)
    if ('sketches' in found) await storeSketches(tx, key, found.sketches)
    return found
  })
  return inTransaction(ctx, 'system', async (tx) => {
    if ('unscorable' in ready) return storeScore(tx, key, ready)
    const { opened, sketches } = ready
    const replayed = await isKnownReplay(tx, key, sketches)
    const history = (await findHistory(tx, opened.session)) ?? noHistory
    let scored: SessionScore | Unscorable
    try {
      scored = scoreRecording(opened, { replayed, history }, findCalibration)
    } catch (error) {
      ctx.log.error(
        { err: error, sessionId: key.sessionId },
        'session scoring failed; it counts as not scorable',
      )
      scored = { unscorable: 'scoring_failed' }
    }
    const isStored = await storeScore(tx, key, scored)
    // Last, because others of the same network wait for its counters until the commit. The credential that follows an
    // attention check is another agent's, and spends directly.
    if (
      isStored &&
      'verified' in scored &&
      scored.verified &&
      !isAttentionChallenge(opened.session.challenge)
    )
      await roots.reserve(tx, { ...key, session: key }, await readNow(tx))
    return isStored
  })
}

const batchMax = 50

/** Scoring on close, and the jobs that retry it. Calibrations are read once, at the start. */
export const makeScoring = (ctx: Ctx, roots: ScoringRoots, findHistory: FindHistory) => {
  const findCalibration = makeFindCalibration(ctx.config.CALIBRATIONS_FILE)
  const deps = { ctx, roots, findCalibration, findHistory }
  const scoreWaiting = async (): Promise<number> => {
    const closedKeys = await inTransaction(ctx, 'system', (tx) => listClosedSessions(tx, batchMax))
    let scoredCount = 0
    for (const key of closedKeys) if (await scoreClosed(deps, key)) scoredCount += 1
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
    /** The session stays closed, so a failure here does not fail the call: the job scores it later. */
    onClosed: async (key: SessionRowKey): Promise<void> => {
      try {
        await scoreClosed(deps, key)
      } catch (error) {
        ctx.log.warn(
          { err: error, sessionId: key.sessionId },
          'session scoring failed; the worker retries it',
        )
      }
    },
  }
}
