import { makeThread, type Thread } from '../../platform/queue/thread.ts'
import type { ScoredRecording, ScoringInput } from './score-recording.ts'

/** Sessions that wait for the thread; `makeCloser` lets far fewer come. */
const waitingMax = 1_000
const silentMsMax = 30_000

export type RecordingScorer = Thread<ScoringInput, ScoredRecording>

/** Decrypts and scores recordings on a thread: one takes several milliseconds of a processor. */
export const makeRecordingScorer = (): RecordingScorer =>
  makeThread({
    program: new URL('score-thread.ts', import.meta.url),
    waitingMax,
    silentMsMax,
    fullError: () => new Error(`${waitingMax} sessions wait for the scoring thread`),
  })
