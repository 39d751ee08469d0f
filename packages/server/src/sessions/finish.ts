import { setTimeout } from 'node:timers/promises'
import { isId, type Mode, type SessionVerdict } from '@pohf/protocol'
import type { Ctx } from '../platform/ops/context.ts'
import type { ClientAddress } from '../platform/http/client-address.ts'
import { inTransaction } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import type { makeCloser } from './closing/close.ts'
import type { SignedChunk } from './recording/chain.ts'
import { makeViewToken, type Session, type SessionStatus } from './rules.ts'
import { findSession, type SessionKey } from './store.ts'

type Owner = { readonly agentId: string; readonly mode: Mode }

export type FinishDeps = {
  readonly ctx: Ctx
  readonly closeSession: ReturnType<typeof makeCloser>
  /**
   * Injected by the wiring: the verdict of a session in its present state, for the person. For a session that passes, it
   * reserves places in the budgets.
   */
  readonly readVerdict: (owner: Owner, session: Session) => Promise<SessionVerdict>
}

/** How long a call waits for the score. Scoring goes on behind the answer, and the page asks again. */
const scoreWaitMs = 1_000

const readSession = async (ctx: Ctx, key: SessionKey): Promise<Session> => {
  const session = await inTransaction(ctx, 'system', (tx) => findSession(tx, key))
  if (!session)
    throw new Error(`session ${key.sessionId} of agent ${key.agentId} not found while finishing it`)
  return session
}

/**
 * Appends the last chunk, closes the session and answers with the verdict. A repeated call with the same chunk gets the
 * verdict at the time of that call.
 */
export const finish = async (
  { ctx, closeSession, readVerdict }: FinishDeps,
  { sessionId, address }: { readonly sessionId: string; readonly address: ClientAddress },
  signed: SignedChunk,
): Promise<SessionVerdict & { sessionId: string; status: SessionStatus; vt?: string }> => {
  if (!isId('ses_', sessionId)) throw new Refusal('not_found', { message: 'No such session.' })
  const { recording, scored } = await closeSession({ sessionId, address, signed, isEnd: true })
  const { agentId, mode, kind, at } = recording
  const session =
    (scored && (await Promise.race([scored, setTimeout(scoreWaitMs, undefined, { ref: false })]))) ??
    (await readSession(ctx, recording))
  const verdict = await readVerdict({ agentId, mode }, session)
  const vt = makeViewToken(ctx, { agentId, mode, sessionId, viewedAt: at })
  return { sessionId, status: session.status, ...verdict, ...(kind === 'view' ? { vt } : {}) }
}
