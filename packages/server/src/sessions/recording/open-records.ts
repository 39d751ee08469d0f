import { telemetryLimits, type TelemetryRecord } from '@pohf/protocol/telemetry'
import type { Ctx } from '../../platform/ops/context.ts'
import type { Tx } from '../../platform/db/db.ts'
import type { PublicJwk } from './chain.ts'
import { openRecord, openSubjectKey, recordKey } from './records.ts'
import { faultFlags, type Client, type Session } from '../rules.ts'
import { findRecordedSession, listChunks } from './store.ts'
import type { SessionKey } from '../store.ts'

/** A recorded session, decrypted: the input of the scorer. */
export type DecryptedSession = {
  readonly session: Session
  readonly opening: { readonly nonce: string; readonly key: PublicJwk }
  readonly client: Client
  readonly records: readonly TelemetryRecord[]
  /** `chain_broken`, `clock_skew`: rules that the key holder broke while recording. */
  readonly flags: readonly ('chain_broken' | 'clock_skew')[]
}

/**
 * Decrypts all records of a finished session; undefined when there is none, it was erased, or its records were
 * deleted.
 */
export const readRecords = async (
  tx: Tx,
  ctx: Ctx,
  key: SessionKey,
): Promise<DecryptedSession | undefined> => {
  const recorded = await findRecordedSession(tx, key)
  if (!recorded || recorded.sealedKey === null) return undefined
  const subjectKey = openSubjectKey(ctx.secrets, recorded.sealedKey)
  const rowKey = { ...key, at: recorded.session.at }
  const stored = await listChunks(tx, rowKey, { from: 1, limit: telemetryLimits.chunksPerSession })
  if (stored.length !== recorded.leaves.length) return undefined
  const records = stored.map(({ seq, ciphertext }) =>
    openRecord(recordKey(subjectKey, key.sessionId, seq), ciphertext),
  )
  const { session, nonce, key: publicKey, client } = recorded
  const flags = faultFlags(recorded.faults)
  return { session, opening: { nonce, key: publicKey }, client, records, flags }
}
