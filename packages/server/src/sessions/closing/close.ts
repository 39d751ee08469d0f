import { telemetryAlg } from '@pohf/protocol/telemetry'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { makeCoalescer, runBisected, type Outcome } from '../../platform/queue/coalesce.ts'
import { makeSlots } from '../../platform/queue/slots.ts'
import { appendChunks, type ChunkSubmission, type RecordingDeps } from '../recording/append.ts'
import type { LockedRecording } from '../recording/store.ts'
import { packLeaves, rootOf } from '../recording/tree.ts'
import type { Session } from '../rules.ts'
import { listChunksOf, updateSessionsClosed, type ClosedRecording } from './store.ts'

/**
 * Injected by the wiring: scores closed sessions, and returns those that it scored, by their ids. It never rejects: what it
 * could not score, a job scores later.
 */
export type ScoreClosed = (closed: readonly ClosedRecording[]) => Promise<ReadonlyMap<string, Session>>

type CloseDeps = RecordingDeps & { readonly scoreClosed: ScoreClosed }

/**
 * Sessions that end in one transaction. Each has up to 4 MB of records. They are in memory until the session is scored, a
 * second time on the thread, and in twice their size while the driver reads them: at most about 250 MB with three batches.
 */
const batchMax = 8
/** Batches between their end and their scores. Each uses one connection at a time. */
const inProgressMax = 3
/** Calls that wait; further ones are refused with Retry-After. */
const waitingMax = 10_000

type ClosedSession = {
  readonly recording: LockedRecording
  /** Undefined for a repeated call: an earlier call has ended the session. */
  readonly closed?: ClosedRecording
}

const closeRecordings = async (
  tx: Tx,
  recordings: readonly LockedRecording[],
): Promise<ReadonlyMap<string, ClosedRecording>> => {
  if (recordings.length === 0) return new Map()
  const chunksOf = await listChunksOf(tx, recordings)
  const closings = recordings.map((recording) => {
    const { sessionId, state } = recording
    const leaves = (chunksOf.get(sessionId) ?? []).map(({ leaf }) => leaf)
    if (leaves.length !== state.chain.seq)
      throw new Error(
        `session ${sessionId} has ${leaves.length} stored chunks, but its chain ends at ${state.chain.seq}`,
      )
    const { link, seq } = state.chain
    const telemetry = { alg: telemetryAlg, link, root: rootOf(leaves).toString('base64url'), n: seq }
    return { recording, telemetry, leaves: packLeaves(leaves) }
  })
  const sessions = await updateSessionsClosed(tx, closings)
  return new Map(
    recordings.map(({ agentId, mode, sessionId, at, state, sealedKey }) => {
      const found = sessions.get(sessionId)
      if (!found) throw new Error(`session ${sessionId} of agent ${agentId} was not open while closing it`)
      const ciphertexts = chunksOf.get(sessionId)?.map(({ ciphertext }) => ciphertext)
      const rowKey = { agentId, mode, sessionId, at }
      return [sessionId, { rowKey, ...found, faults: state.faults, sealedKey, ciphertexts }]
    }),
  )
}

/** Appends the last chunks of sessions and closes them, in one transaction. */
const closeBatch = async (
  deps: CloseDeps,
  submissions: readonly ChunkSubmission[],
): Promise<Outcome<ClosedSession>[]> =>
  inTransaction(deps.ctx, 'system', async (tx) => {
    const results = await appendChunks(tx, deps, submissions)
    const ended = results.flatMap((result) => (result.type === 'accepted' ? [result.recording] : []))
    const closed = await closeRecordings(tx, ended)
    return results.map((result): Outcome<ClosedSession> => {
      if (result.type === 'refused') return { error: result.refusal }
      const { recording } = result
      const own = result.type === 'accepted' ? closed.get(recording.sessionId) : undefined
      return { value: { recording, ...(own ? { closed: own } : {}) } }
    })
  })

/** No single session is at fault when the database is unavailable. */
const isUnavailable = (error: unknown): boolean => error instanceof Refusal

export type EndedSession = {
  readonly recording: LockedRecording
  /** The session once it is scored; undefined where scoring failed. A session that was closed before has no promise. */
  readonly scored?: Promise<Session | undefined>
}

/**
 * Ends sessions in batches. Scoring starts when a batch has committed, outside its transaction; a caller may wait for its
 * score. A batch that fails is split, down to the session at fault. While `inProgressMax` batches are in progress, the next
 * batch waits and takes further sessions in.
 */
export const makeCloser = (deps: CloseDeps): ((submission: ChunkSubmission) => Promise<EndedSession>) => {
  const inSlot = makeSlots({ slotsMax: inProgressMax, waitingMax: 1 })

  const endBatch = (submissions: readonly ChunkSubmission[]): Promise<Outcome<EndedSession>[]> =>
    new Promise((resolve, reject) => {
      inSlot(async () => {
        const outcomes = await runBisected(submissions, (part) => closeBatch(deps, part), isUnavailable)
        const closed = outcomes.flatMap((outcome) => ('value' in outcome ? (outcome.value.closed ?? []) : []))
        const scores = closed.length === 0 ? undefined : deps.scoreClosed(closed)
        resolve(
          outcomes.map((outcome): Outcome<EndedSession> => {
            if (!('value' in outcome)) return outcome
            const { recording, closed: own } = outcome.value
            const scored = own && scores?.then((sessions) => sessions.get(recording.sessionId))
            return { value: { recording, ...(scored ? { scored } : {}) } }
          }),
        )
        await scores
      }).catch(reject)
    })

  return makeCoalescer<ChunkSubmission, EndedSession>({
    run: endBatch,
    batchMax,
    inFlightMax: 1,
    batchWaitMs: 0,
    waitingMax,
    waitLimitMs: deps.ctx.config.DATABASE_WAIT_SECONDS * 1_000,
    fullError: () => new Refusal('overloaded', { headers: { 'retry-after': '2' } }),
  })
}
