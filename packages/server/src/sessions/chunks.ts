import type { Agent } from '../platform/call.ts'
import type { Ctx } from '../platform/context.ts'
import { inTransaction } from '../platform/db.ts'
import { Refusal } from '../platform/errors.ts'
import { openSubjectKey, recordKey } from './records.ts'
import { findRecorded, listStored } from './store.ts'
import { proofOf } from './tree.ts'

type Page = { readonly from?: number | undefined; readonly limit?: number | undefined }
const limitDefault = 20

/** Recorded chunks of a session of this agent, each with its key and its proof. */
export const chunks = async (ctx: Ctx, agent: Agent, sessionId: string, page: Page) => {
  const key = { agentId: agent.agentId, mode: agent.mode, sessionId }
  const from = page.from ?? 1
  const limit = page.limit ?? limitDefault
  const found = await inTransaction(ctx, agent.agentId, async (tx) => {
    const recorded = await findRecorded(tx, key)
    if (!recorded || recorded.sealedKey === null) return recorded && { ...recorded, stored: [] }
    return { ...recorded, stored: await listStored(tx, { ...key, at: recorded.session.at }, { from, limit }) }
  })
  if (!found)
    throw new Refusal('not_found', { message: 'No such session, or it was not recorded to its end.' })
  const { session, telemetry, sealedKey, stored, leaves } = found
  const subjectKey = sealedKey === null ? undefined : openSubjectKey(ctx.secrets, sealedKey)
  const opened = subjectKey
    ? stored.map(({ seq, ciphertext }) => ({
        seq,
        ciphertext: ciphertext.toString('base64url'),
        key: recordKey(subjectKey, sessionId, seq).toString('base64url'),
        proof: proofOf(leaves, seq - 1).map((hash) => hash.toString('base64url')),
      }))
    : []
  const last = opened.at(-1)?.seq
  return {
    sessionId,
    telemetry,
    opening: {
      nonce: found.nonce,
      key: found.key,
      site: agent.agentId,
      kind: session.kind,
      workflowId: session.workflowId,
      challenge: session.challenge,
    },
    chunks: opened,
    nextFrom: last !== undefined && last < leaves.length ? last + 1 : null,
  }
}
