import type { TelemetryRecord } from '@pohf/protocol/telemetry'
import type { Ctx } from '../../platform/ops/context.ts'
import type { ClientAddress } from '../../platform/http/client-address.ts'
import type { Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { refusalOrThrow } from '../../platform/http/refusals.ts'
import type { ChunkRule, SignedChunk } from './chain.ts'
import { advanceRecording, type Recording } from './state.ts'
import { leafOf, openSubjectKey, recordKey, sealRecord } from './records.ts'
import { lockRecordings, updateRecordings, type LockedRecording } from './store.ts'

/** Injected by the wiring: notes the address from which a page of a live session calls, or refuses it. */
export type NoteAddress = (
  tx: Tx,
  session: { readonly sessionId: string; readonly at: Date; readonly now: Date },
  address: ClientAddress,
) => Promise<void>

export type RecordingDeps = { readonly ctx: Ctx; readonly noteAddress: NoteAddress }

export type ChunkSubmission = {
  readonly sessionId: string
  /** The address that the page calls from. */
  readonly address: ClientAddress
  readonly signed: SignedChunk
  readonly isEnd: boolean
}

/** The result of a chunk. A refusal is a value, because the faults it recorded must be committed first. */
export type ChunkResult =
  | { readonly type: 'accepted' | 'repeated'; readonly recording: LockedRecording }
  | { readonly type: 'refused'; readonly refusal: unknown }

/** The message of each rule, for developers of clients. */
const messages: Readonly<Record<ChunkRule, string>> = {
  shape: 'is no chunk of telemetry v1; env belongs in chunk 1 and only there',
  limit: 'is more than a chunk or a session may hold',
  ended: 'comes after the session was finished',
  sequence: 'does not have the next number',
  signature: 'is not signed by the session key over the next link of the chain',
  fork: 'differs from the chunk that was accepted under the same number',
  receipt: 'does not name the token of the last receipt',
  clock: 'does not begin where the last one ended, or runs ahead of the server’s clock',
  end: 'has a wrong `last`: send it only with finish, with the number of chunks and the whole time',
}
const refusalOf = (rule: ChunkRule): Refusal =>
  new Refusal('telemetry_refused', {
    details: [{ path: 'body.chunk', code: rule, message: messages[rule] }],
  })

const refuse = (refusal: unknown): ChunkResult => ({ type: 'refused', refusal })

const sealChunk = (ctx: Ctx, recording: LockedRecording, record: TelemetryRecord) => {
  const subjectKey = openSubjectKey(ctx.secrets, recording.sealedKey)
  const ciphertext = sealRecord(recordKey(subjectKey, recording.sessionId, record.seq), record)
  const { agentId, sessionId, now } = recording
  return { agentId, sessionId, seq: record.seq, at: now, leaf: leafOf(ciphertext), ciphertext }
}

/** Appends chunks of any sessions in the caller's transaction: one locking read, one write. */
export const appendChunks = async (
  tx: Tx,
  { ctx, noteAddress }: RecordingDeps,
  submissions: readonly ChunkSubmission[],
): Promise<ChunkResult[]> => {
  const sessionIds = [...new Set(submissions.map(({ sessionId }) => sessionId))]
  const recordings = new Map(
    (await lockRecordings(tx, sessionIds)).map((recording) => [recording.sessionId, recording]),
  )
  const changed = new Map<string, Recording>()
  const chunks: ReturnType<typeof sealChunk>[] = []
  const takeOne = ({ sessionId, signed, isEnd }: ChunkSubmission): ChunkResult => {
    const recording = recordings.get(sessionId)
    if (!recording) return refuse(new Refusal('not_found', { message: 'No such session.' }))
    const { now, status, expiresAt } = recording
    if (status === 'expired' || (status === 'open' && expiresAt <= now))
      return refuse(new Refusal('session_expired'))
    const randomness = { token: ctx.ids.random(), draw: ctx.ids.randomFraction(), seed: ctx.ids.random() }
    const step = advanceRecording(recording, { signed, isEnd, now: now.getTime() }, randomness)
    if (step.type === 'repeated') return { type: 'repeated', recording }
    // A retry in the same batch finds the session closed, as it will be.
    const isClosing = isEnd && step.type === 'accepted'
    const next = { ...recording, state: step.state, ...(isClosing ? { status: 'closed' as const } : {}) }
    if (step.type === 'accepted') chunks.push(sealChunk(ctx, next, step.record))
    recordings.set(sessionId, next)
    if (next.state !== recording.state) changed.set(sessionId, next)
    if (step.type === 'refused') return refuse(refusalOf(step.rule))
    return { type: 'accepted', recording: next }
  }
  const results = submissions.map((submission): ChunkResult => {
    try {
      return takeOne(submission)
    } catch (error) {
      // A session that cannot be decrypted must not fail the others in its batch.
      return refuse(error)
    }
  })
  const refusals = await noteAddresses(tx, noteAddress, submissions, results)
  for (const sessionId of refusals.keys()) changed.delete(sessionId)
  await updateRecordings(
    tx,
    [...changed.values()],
    chunks.filter(({ sessionId }) => !refusals.has(sessionId)),
  )
  return results.map((result, index) => {
    const refusal = refusals.get(submissions[index]?.sessionId ?? '')
    return refusal && result.type === 'accepted' ? refuse(refusal) : result
  })
}

/**
 * Notes the addresses from which the pages of live sessions call, for accepted chunks only, since the page's key signed
 * those. Returns the refusals of sessions that come from too many addresses; nothing of them is stored.
 */
const noteAddresses = async (
  tx: Tx,
  noteAddress: NoteAddress,
  submissions: readonly ChunkSubmission[],
  results: readonly ChunkResult[],
): Promise<ReadonlyMap<string, Refusal>> => {
  const refusals = new Map<string, Refusal>()
  for (const [index, { address }] of submissions.entries()) {
    const result = results[index]
    if (result?.type !== 'accepted' || result.recording.mode === 'test') continue
    const refusal = await noteAddress(tx, result.recording, address).then(() => undefined, refusalOrThrow)
    if (refusal) refusals.set(result.recording.sessionId, refusal)
  }
  return refusals
}
