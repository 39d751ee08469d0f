import type { Mode, Receipt } from '@pohf/protocol'
import type { TelemetryRecord } from '@pohf/protocol/telemetry'
import { chainFrom, verifyChunk, type Chain, type ChunkRule, type SignedChunk } from './chain.ts'
import { expectedAnswerOf, type Language } from './probes.ts'
import type { RenderProbe } from './render.ts'
import type { RecordedKind } from '../rules.ts'
import { advanceSchedule, nextChunkDelayMs, newSchedule, type ProbeSeed, type Schedule } from './schedule.ts'

/** The parts of the last receipt that are not derived from the rest of the state. */
type LastReceipt = {
  readonly at: number
  readonly token: string
  readonly nextMs: number
  readonly probe: ProbeSeed | null
}

/** The state of a recording: all that changes with each chunk. */
export type RecordingState = {
  readonly chain: Chain
  readonly given: LastReceipt
  readonly schedule: Schedule
  /** Rules broken in signed chunks, each named once. */
  readonly faults: readonly ChunkRule[]
  /** Of word probes. A recording begun by an older version has none: English. */
  readonly language?: Language
}

export type Recording = {
  readonly agentId: string
  readonly sessionId: string
  readonly mode: Mode
  readonly kind: RecordedKind
  readonly at: Date
  readonly expiresAt: Date
  readonly status: 'open' | 'closed' | 'expired'
  readonly publicKey: Buffer
  readonly state: RecordingState
}

/** Fresh randomness for one receipt. */
export type ReceiptRandomness = { readonly token: string; readonly draw: number; readonly seed: string }

/** Receipts carry 128 bits of a 256-bit token. */
const shortToken = (token: string): string =>
  Buffer.from(token, 'base64url').subarray(0, 16).toString('base64url')

type RecordingStart = {
  readonly kind: RecordedKind
  /** The browser passed on an earlier day. */
  readonly returning: boolean
  /** Begin with word probes. */
  readonly words: boolean
  readonly language: Language
}

export const beginRecording = (
  link: string,
  at: number,
  { language, ...start }: RecordingStart,
  randomness: ReceiptRandomness,
): RecordingState => {
  const schedule = newSchedule(start, at, randomness)
  return {
    chain: chainFrom(link),
    given: {
      at,
      token: shortToken(randomness.token),
      nextMs: nextChunkDelayMs(schedule, start.kind, at),
      probe: schedule.open?.probe ?? null,
    },
    schedule,
    faults: [],
    language,
  }
}

/** The receipt of a state; deterministic. */
export const receiptOf = async (
  render: RenderProbe,
  { chain, given, schedule, language }: RecordingState,
): Promise<Receipt> => ({
  seq: chain.seq,
  at: given.at,
  token: given.token,
  nextMs: given.nextMs,
  progress: { done: schedule.done, of: schedule.of, hits: schedule.hits },
  probe: given.probe && (await render(given.probe, language)),
})

type RecordingStep =
  | { readonly type: 'accepted'; readonly state: RecordingState; readonly record: TelemetryRecord }
  | { readonly type: 'repeated' }
  | { readonly type: 'refused'; readonly rule: ChunkRule; readonly state: RecordingState }

/**
 * Advances the recording by one chunk, or refuses it. Rules broken by the key holder are recorded; an unsigned
 * chunk changes nothing.
 */
export const advanceRecording = (
  recording: Recording,
  call: { readonly signed: SignedChunk; readonly isEnd: boolean; readonly now: number },
  randomness: ReceiptRandomness,
): RecordingStep => {
  const { state } = recording
  const verdict = verifyChunk(call.signed, {
    chain: state.chain,
    token: state.given.token,
    publicKey: recording.publicKey,
    startedAt: recording.at.getTime(),
    now: call.now,
    isClosed: recording.status === 'closed',
    isEnd: call.isEnd,
  })
  if (verdict.type === 'repeated') return verdict
  if (verdict.type === 'refused') {
    const isNew = verdict.signed && recording.status === 'open' && !state.faults.includes(verdict.rule)
    const faults = isNew ? [...state.faults, verdict.rule] : state.faults
    return { type: 'refused', rule: verdict.rule, state: isNew ? { ...state, faults } : state }
  }
  const record: TelemetryRecord = {
    v: 1,
    seq: verdict.chunk.seq,
    chunk: call.signed.chunk,
    signature: call.signed.signature,
    receivedAt: call.now,
    after: {
      at: state.given.at,
      token: state.given.token,
      probe: state.given.probe && expectedAnswerOf(state.given.probe),
      ...(verdict.chunk.seq === 1 && state.schedule.returning ? { returning: true as const } : {}),
    },
  }
  const read = { chunk: verdict.chunk, receivedAt: call.now, after: record.after }
  const { schedule, opened } = advanceSchedule(state.schedule, read, recording.kind, randomness)
  const given = {
    at: call.now,
    token: shortToken(randomness.token),
    nextMs: nextChunkDelayMs(schedule, recording.kind, call.now),
    probe: opened,
  }
  return { type: 'accepted', state: { ...state, chain: verdict.chain, given, schedule }, record }
}
