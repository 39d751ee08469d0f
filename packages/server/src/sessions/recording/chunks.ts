import type { Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { openSubjectKey, recordKey } from './records.ts'
import { findRecordedSession, listChunks } from './store.ts'
import type { SessionKey } from '../store.ts'
import { proofOf } from './tree.ts'

type Page = { readonly from?: number | undefined; readonly limit?: number | undefined }
const limitDefault = 20

/** Chunks of a finished session, each with its key and inclusion proof; none once the raw data is deleted. */
export const readChunks = async (tx: Tx, ctx: Ctx, key: SessionKey, page: Page) => {
  const recorded = await findRecordedSession(tx, key)
  if (!recorded)
    throw new Refusal('not_found', { message: 'No such session, or its recording is incomplete.' })
  const { session, telemetry, sealedKey, leaves } = recorded
  const slice = { from: page.from ?? 1, limit: page.limit ?? limitDefault }
  const subjectKey = sealedKey === null ? undefined : openSubjectKey(ctx.secrets, sealedKey)
  const stored = subjectKey ? await listChunks(tx, { ...key, at: session.at }, slice) : []
  const opened = subjectKey
    ? stored.map(({ seq, ciphertext }) => ({
        seq,
        ciphertext: ciphertext.toString('base64url'),
        key: recordKey(subjectKey, key.sessionId, seq).toString('base64url'),
        proof: proofOf(leaves, seq - 1).map((hash) => hash.toString('base64url')),
      }))
    : []
  const last = opened.at(-1)?.seq
  return {
    sessionId: key.sessionId,
    telemetry,
    opening: {
      nonce: recorded.nonce,
      key: recorded.key,
      site: recorded.site,
      kind: session.kind,
      workflowId: session.workflowId,
      challenge: session.challenge,
    },
    chunks: opened,
    nextFrom: last !== undefined && last < leaves.length ? last + 1 : null,
  }
}

/** Chunks of a session of this agent. */
export const chunks = async (ctx: Ctx, agent: Agent, sessionId: string, page: Page) =>
  inTransaction(ctx, agent.agentId, (tx) =>
    readChunks(tx, ctx, { agentId: agent.agentId, mode: agent.mode, sessionId }, page),
  )
