import {
  deviceScores,
  historyScore,
  mouseMotionOf,
  scoreSession,
  type FlagName,
  type ReplayDescriptor,
  type SessionScore,
} from '@pohf/scorer'
import { inputModel } from '@pohf/scorer/input-model'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import type { Duty } from '../../platform/queue/worker.ts'
import {
  listClosed,
  readRecords,
  updateSessionScored,
  type OpenedSession,
  type SessionKey,
} from '../../sessions/index.ts'
import { makeFindCalibration, type FindCalibration } from './calibrations.ts'
import { evidenceItem } from '../proof.ts'
import { publishScored } from './publish-scored.ts'
import { isKnownReplay, sketchesOf, storeSketches } from './replay.ts'
import { dropOldSketches } from '../store.ts'

/** Where nothing can be said of a session, it is refused with the reason, so that it does not wait for ever. */
type Unscorable = { readonly unscorable: 'records_gone' | 'scoring_failed' }
type Ready = { readonly opened: OpenedSession; readonly sketches: readonly ReplayDescriptor[] }

const unscored = {
  quality: 0,
  verified: false,
  assurance: 'low',
  components: { focus: null, probe: null, input: null, gaze: null, device: null, history: null },
  flags: ['insufficient_evidence'],
} as const

const open = async (tx: Tx, ctx: Ctx, key: SessionKey): Promise<Ready | Unscorable> => {
  const opened = await readRecords(tx, ctx, key)
  if (!opened) return { unscorable: 'records_gone' }
  return { opened, sketches: sketchesOf(mouseMotionOf(opened.records)) }
}

const score = (opened: OpenedSession, replayed: boolean, findCalibration: FindCalibration): SessionScore => {
  const { session, client, records } = opened
  if (session.kind === 'presence') throw new Error('presence is not recorded')
  const known: FlagName[] = [
    ...opened.flags,
    ...(client.automated ? (['automation_env'] as const) : []),
    ...(replayed ? (['replay_match'] as const) : []),
  ]
  const context = {
    kind: session.kind,
    // A page's key says nothing about the person or the device behind it; members and attested devices will.
    device: deviceScores.none,
    history: historyScore(0, 0),
    known,
    answerCorrect: null,
    calibration: findCalibration(client.platform),
  }
  return scoreSession(records, context, inputModel)
}

const settle = async (tx: Tx, key: SessionKey, scored: SessionScore | Unscorable): Promise<boolean> => {
  const salt = Buffer.from(tx.ids.token(), 'base64url')
  if ('unscorable' in scored) {
    const verdict = { ...unscored, reasons: [scored.unscorable] }
    const result = { ...verdict, scoring: inputModel.version, evidence: [], counted: null, salt }
    if (!(await updateSessionScored(tx, key, result))) return false
    await publishScored(tx, key, verdict)
    return true
  }
  const counted = { ...scored.evidence, observations: [...scored.observations] }
  const evidence = [evidenceItem(salt, 'telemetry', { session: key.sessionId, counted })]
  if (!(await updateSessionScored(tx, key, { ...scored, evidence, counted, salt }))) return false
  await publishScored(tx, key, scored)
  return true
}

/**
 * Scores a session that has closed, once; false where somebody else did. Sketches are committed before others are
 * looked for: of two copies that close at the same moment at least one sees the other.
 */
const scoreClosed = async (ctx: Ctx, findCalibration: FindCalibration, key: SessionKey): Promise<boolean> => {
  const ready = await inTransaction(ctx, 'system', async (tx) => {
    const found = await open(tx, ctx, key)
    if ('sketches' in found) await storeSketches(tx, key, found.sketches)
    return found
  })
  return inTransaction(ctx, 'system', async (tx) => {
    if ('unscorable' in ready) return settle(tx, key, ready)
    const { opened, sketches } = ready
    const replayed = await isKnownReplay(tx, key, sketches)
    let scored: SessionScore | Unscorable
    try {
      scored = score(opened, replayed, findCalibration)
    } catch (error) {
      ctx.log.error({ err: error, sessionId: key.sessionId }, 'a session could not be scored')
      scored = { unscorable: 'scoring_failed' }
    }
    return settle(tx, key, scored)
  })
}

const batchMax = 50

/** What follows the end of a session, and the duties that keep it so. Calibrations are read once, at the start. */
export const makeScoring = (ctx: Ctx) => {
  const findCalibration = makeFindCalibration(ctx.config.CALIBRATIONS_FILE)
  const scoreWaiting = async (): Promise<number> => {
    const waiting = await inTransaction(ctx, 'system', (tx) => listClosed(tx, batchMax))
    let taken = 0
    for (const key of waiting) if (await scoreClosed(ctx, findCalibration, key)) taken += 1
    return taken
  }
  const duties: Duty[] = [
    // Those that closed and were not scored: a process ended in between, or the database was away.
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
    duties,
    /** The session is closed for good, so a failure here is no failure of the call: the duty comes back to it. */
    onClosed: async (key: SessionKey): Promise<void> => {
      try {
        await scoreClosed(ctx, findCalibration, key)
      } catch (error) {
        ctx.log.warn({ err: error, sessionId: key.sessionId }, 'a session waits for its score')
      }
    },
  }
}
