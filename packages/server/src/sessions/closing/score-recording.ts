import {
  describeStroke,
  deviceScores,
  historyScore,
  readMouseMotion,
  replayModel,
  scoreSession,
  toRuns,
  type Calibration,
  type FlagName,
  type MotionPoint,
  type ReplayDescriptor,
  type SessionScore,
} from '@pohf/scorer'
import { inputModel } from '@pohf/scorer/input-model'
import { openRecord, recordKey } from '../recording/records.ts'
import type { RecordedKind } from '../rules.ts'

/** The encrypted records of a session, their key, and what the server knows besides. */
export type ScoringInput = {
  readonly sessionId: string
  readonly subjectKey: Uint8Array
  readonly ciphertexts: readonly Uint8Array[]
  readonly kind: RecordedKind
  /** The acts of the person for one agent: paid, accepted and not refunded, and those that were refused. */
  readonly history: { readonly good: number; readonly bad: number }
  readonly known: readonly FlagName[]
  readonly calibration: Calibration | null
}
export type ScoredRecording = {
  readonly sessionScore: SessionScore
  readonly sketches: readonly ReplayDescriptor[]
}

/** About ten minutes of continuous motion; later strokes are not stored. */
const sketchesPerSession = 256

/** Sketches of the distinctive strokes of a session; most strokes are alike in everybody and are left out. */
const sketchesOf = (points: readonly MotionPoint[]): ReplayDescriptor[] =>
  toRuns(points)
    .flatMap((run) => describeStroke(run, replayModel) ?? [])
    .slice(0, sketchesPerSession)

/**
 * Decrypts the records of a session, scores them and describes their strokes. It runs on a thread, so it imports nothing that
 * uses the database: the whole server would be loaded a second time.
 */
export const scoreRecording = (input: ScoringInput): ScoredRecording => {
  const subjectKey = Buffer.from(input.subjectKey)
  const records = input.ciphertexts.map((bytes, index) =>
    openRecord(
      recordKey(subjectKey, input.sessionId, index + 1),
      Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length),
    ),
  )
  const context = {
    kind: input.kind,
    // A page's key proves nothing about the person or the device; members and attested devices do.
    device: deviceScores.none,
    history: historyScore(input.history.good, input.history.bad),
    known: input.known,
    answerCorrect: null,
    calibration: input.calibration,
  }
  return {
    sessionScore: scoreSession(records, context, inputModel),
    sketches: sketchesOf(readMouseMotion(records)),
  }
}
