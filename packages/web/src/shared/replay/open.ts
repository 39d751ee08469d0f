import {
  checkChunks,
  type CheckChunksResult,
  type SealedChunk,
  type TelemetryClaim,
  type TelemetryOpening,
} from '@pohf/verify'
import type { TelemetryRecord } from '@pohf/protocol/telemetry'
import { buildTimeline, type SessionTimeline } from './timeline.ts'

type Recording = {
  readonly sessionId: string
  readonly telemetry: TelemetryClaim
  readonly opening: TelemetryOpening
  readonly chunks: readonly SealedChunk[]
}
/** What `…/sessions/{sessionId}/chunks` answers. */
export type RecordingPage = Recording & { readonly nextFrom: number | null }
export type OpenedRecording = {
  readonly recording: Recording
  readonly verification: CheckChunksResult
  readonly timeline: SessionTimeline
}

/** A session has at most 2,000 chunks, a hundred on a page. */
const pagesMax = 20

/**
 * Loads a whole recording page by page, opens it here in the browser, and checks it against what the service has
 * committed to. Undefined where the raw data is gone; throws where a chunk does not hold.
 */
export const openRecording = async (
  loadFrom: (from: number) => Promise<RecordingPage>,
): Promise<OpenedRecording | undefined> => {
  let page = await loadFrom(1)
  const chunks = [...page.chunks]
  for (let count = 1; page.nextFrom !== null && count < pagesMax; count++) {
    page = await loadFrom(page.nextFrom)
    chunks.push(...page.chunks)
  }
  if (chunks.length === 0) return undefined
  const { sessionId, telemetry, opening } = page
  const recording = { sessionId, telemetry, opening, chunks }
  const whole = await checkChunks(recording)
  if (!whole.ok) throw new Error(`Chunk ${whole.seq} does not hold: ${whole.message}`)
  const timeline = buildTimeline(whole.records as readonly TelemetryRecord[])
  if (!timeline) throw new Error('This recording is in a form that this page does not know.')
  return { recording, verification: whole, timeline }
}
