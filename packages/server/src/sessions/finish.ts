import { isId } from '@pohf/protocol'
import { telemetryAlg } from '@pohf/protocol/telemetry'
import { inTransaction, type Tx } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import type { SignedChunk } from './recording/chain.ts'
import { makeViewToken, type SessionStatus } from './rules.ts'
import { listLeaves, updateSessionClosed, type LockedRecording } from './recording/store.ts'
import { findSession, type SessionRowKey } from './store.ts'
import { appendChunks, type RecordingDeps } from './recording/append.ts'
import { packLeaves, rootOf } from './recording/tree.ts'

/** Injected by the wiring: scores the session once it is closed. If it fails, a job scores it later. */
export type OnClosed = (rowKey: SessionRowKey) => Promise<void>

const closeSession = async (tx: Tx, recording: LockedRecording): Promise<void> => {
  const leaves = await listLeaves(tx, recording)
  const { chain, faults } = recording.state
  if (leaves.length !== chain.seq)
    throw new Error(
      `session ${recording.sessionId} has ${leaves.length} stored chunks, but its chain ends at ${chain.seq}`,
    )
  await updateSessionClosed(tx, recording, {
    endedAt: recording.now,
    telemetry: {
      alg: telemetryAlg,
      link: chain.link,
      root: rootOf(leaves).toString('base64url'),
      n: chain.seq,
    },
    leaves: packLeaves(leaves),
    faults,
  })
}

/** Appends the last chunk and closes the session. */
export const finish = async (
  deps: RecordingDeps,
  { sessionId, address }: { readonly sessionId: string; readonly address: string },
  signed: SignedChunk,
  onClosed: OnClosed,
): Promise<{ sessionId: string; status: SessionStatus; vt?: string }> => {
  const { ctx } = deps
  if (!isId('ses_', sessionId)) throw new Refusal('not_found', { message: 'No such session.' })
  const ended = await inTransaction(ctx, 'system', async (tx) => {
    const [appended] = await appendChunks(tx, deps, [{ sessionId, address, signed, isEnd: true }])
    if (!appended) throw new Error(`no result for the last chunk of session ${sessionId} while finishing it`)
    if (appended.type === 'refused') return appended
    const { recording } = appended
    if (appended.type === 'accepted') {
      await closeSession(tx, recording)
    }
    return appended
  })
  if (ended.type === 'refused') throw ended.refusal
  if (ended.type === 'accepted') await onClosed(ended.recording)
  const found = await inTransaction(ctx, 'system', (tx) => findSession(tx, ended.recording))
  const { agentId, mode, kind, at } = ended.recording
  const vt = makeViewToken(ctx.secrets.derive('vt'), { agentId, mode, sessionId, viewedAt: at })
  return { sessionId, status: found?.status ?? 'closed', ...(kind === 'view' ? { vt } : {}) }
}
