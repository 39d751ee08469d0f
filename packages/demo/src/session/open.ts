import {
  checkChunks,
  type CheckChunksResult,
  type SealedChunk,
  type TelemetryClaim,
  type TelemetryOpening,
} from '@pohf/verify'
import type { TelemetryRecord } from '@pohf/protocol/telemetry'
import { storyOf, type Story } from './story.ts'

type Session = { readonly sessionId: string; readonly status: string; readonly quality: number | null }
type Recording = {
  readonly sessionId: string
  readonly telemetry: TelemetryClaim
  readonly opening: TelemetryOpening
  readonly chunks: readonly SealedChunk[]
}
export type Opened = {
  readonly session: Session
  readonly recording: Recording
  readonly whole: CheckChunksResult
  readonly story: Story
}
type Pages = Recording & { readonly nextFrom: number | null }

/** A session has at most 2,000 chunks, a hundred on a page. */
const pagesMax = 20

const load = async <T>(path: string): Promise<T> => {
  const response = await fetch(path)
  const json = (await response.json()) as { message?: string }
  if (!response.ok) throw new Error(json.message ?? 'The service did not answer.')
  return json as T
}

/** Loads a whole session, opens it here in the browser, and checks it against what the service has committed to. */
export const openSession = async (sessionId: string): Promise<Opened> => {
  const id = encodeURIComponent(sessionId)
  const session = await load<Session>(`/session.json?id=${id}`)
  if (session.status === 'open' || session.status === 'expired')
    throw new Error('It was not finished, so there is nothing to open. Nothing of it is ever counted.')
  let page = await load<Pages>(`/chunks.json?id=${id}`)
  const chunks = [...page.chunks]
  for (let count = 1; page.nextFrom !== null && count < pagesMax; count++) {
    page = await load<Pages>(`/chunks.json?id=${id}&from=${page.nextFrom}`)
    chunks.push(...page.chunks)
  }
  const recording = { sessionId, telemetry: page.telemetry, opening: page.opening, chunks }
  const whole = await checkChunks(recording)
  if (!whole.ok) throw new Error(`Chunk ${whole.seq} does not hold: ${whole.message}`)
  const story = storyOf(whole.records as readonly TelemetryRecord[])
  if (!story || chunks.length === 0)
    throw new Error('The recording is gone: it is kept for 30 days. Its hashes stay.')
  return { session, recording, whole, story }
}
