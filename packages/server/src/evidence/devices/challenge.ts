import type { Mode } from '@pohf/protocol'
import { resolveMember } from '../../members/index.ts'
import { inTransaction, readNow, type Tx } from '../../platform/db/db.ts'
import type { Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import type { AgentId } from '../../platform/ops/ids.ts'
import { findSession } from '../../sessions/index.ts'
import { boundChallenge, nonceMinutes } from '../rules.ts'
import { insertNonce } from '../store.ts'

export type ChallengeDeps = {
  readonly ctx: Ctx
  /** Injected by the wiring: the agent that owns the attention checks of members. */
  readonly platformAgentOf: (mode: Mode) => AgentId
}

/** Who a verdict is about: a session of the agent, one of its members, or any name that the agent uses. */
export type Subject = { readonly agentId: string; readonly mode: Mode; readonly subjectRef: string }

type BoundSession = { readonly sessionId: string; readonly jkt: string }

/** The session of the act: the subject itself, or the last attention check of the member. */
const findBoundSession = async (
  tx: Tx,
  { platformAgentOf }: ChallengeDeps,
  { agentId, mode, subjectRef }: Subject,
): Promise<BoundSession | undefined> => {
  const own = await findSession(tx, { agentId, mode, sessionId: subjectRef })
  if (own) return own.jkt === null ? undefined : { sessionId: own.sessionId, jkt: own.jkt }
  const member = await resolveMember(tx, { agentId, mode }, subjectRef)
  if (member?.status !== 'enrolled' || member.simulated) return undefined
  const { sessionId } = member.attention
  const check = await findSession(tx, { agentId: platformAgentOf(mode), mode, sessionId })
  return check?.jkt ? { sessionId, jkt: check.jkt } : undefined
}

/** A nonce for one verdict. For a session or a member the device signs a text that contains the key of the session. */
export const makeChallenge = async (
  tx: Tx,
  deps: ChallengeDeps,
  subject: Omit<Subject, 'subjectRef'> & { readonly subjectRef: string | undefined },
) => {
  const { agentId, mode, subjectRef } = subject
  // 32 random bytes in base64url. Where nothing is bound, the same text is nonce and challenge.
  const nonce = deps.ctx.ids.random()
  const bound =
    subjectRef === undefined ? undefined : await findBoundSession(tx, deps, { agentId, mode, subjectRef })
  const challenge = bound ? boundChallenge(nonce, bound) : nonce
  const expiresAt = new Date((await readNow(tx)).getTime() + nonceMinutes * 60_000)
  await insertNonce(tx, {
    agentId,
    purpose: 'attest',
    nonce,
    expiresAt,
    message: challenge,
    memberRef: subjectRef,
    sessionId: bound?.sessionId,
  })
  return { nonce, challengeB64url: challenge, bound: bound !== undefined, expiresAt: expiresAt.toISOString() }
}

/** The attention check of a member belongs to the platform agent, so the transaction is the system's. */
export const attestChallenge = (
  deps: ChallengeDeps,
  { agentId, mode }: Agent,
  { subjectRef }: { readonly subjectRef?: string | undefined },
) => inTransaction(deps.ctx, 'system', (tx) => makeChallenge(tx, deps, { agentId, mode, subjectRef }))
