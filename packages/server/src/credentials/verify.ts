import type { Mode } from '@pohf/protocol'
import { ApiResponse, type Agent } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { resolveSession } from '../evidence/index.ts'
import { makeViewToken, type Session } from '../sessions/index.ts'
import type { CredentialsDeps, WithToken } from './mint/mint.ts'
import { commonClaims, credentialKindOf, pairwiseSubject } from './rules.ts'
import type { SessionAssuranceInputs } from './mint/assurance-inputs.ts'

type Input = { readonly sessionId: string; readonly challenge?: string | undefined }

/** Refuses a session that is missing, expired, not ready or rejected, in this order. */
export const requireVerified = (session: Session | undefined): Session => {
  if (!session) throw new Refusal('not_found', { message: 'No such session.' })
  if (session.status === 'expired') throw new Refusal('session_expired')
  if (session.status === 'open' || session.status === 'closed')
    throw new Refusal('session_not_ready', { headers: { 'retry-after': '1' } })
  if (session.verified !== true) {
    const details = session.reasons.map((reason) => ({
      path: 'session',
      code: reason,
      message: reason.replaceAll('_', ' '),
    }))
    throw new Refusal('session_rejected', { details })
  }
  return session
}

/** Refuses a challenge other than the session's. */
export const requireChallenge = (session: Session, challenge: string | undefined): void => {
  if (challenge === undefined || challenge === session.challenge) return
  throw new Refusal('validation_failed', {
    details: [{ path: 'body.challenge', code: 'mismatch', message: 'is not the challenge of this session' }],
  })
}

const kindClaim = (session: Session) => {
  const kind = credentialKindOf[session.kind]
  if (kind === 'view') return { view: { session: session.sessionId } }
  if (kind === 'work')
    return {
      work: {
        session: session.sessionId,
        ...(session.workflowId === null ? {} : { workflow: session.workflowId }),
      },
    }
  return {
    presence: {
      session: session.sessionId,
      source: session.source === 'receipt' ? ('receipt' as const) : ('geo_photo' as const),
    },
  }
}

/** The claims of a session's credential. */
const sessionClaims = (deps: CredentialsDeps, agent: MintTenant, session: Session) => ({
  sub: pairwiseSubject(
    deps.ctx.secrets.derive('pairwise'),
    agent.agentId,
    session.memberRef ?? session.jkt ?? session.sessionId,
  ),
  agent: agent.agentId,
  event_at: Math.floor((session.endedAt ?? session.at).getTime() / 1_000),
  ...(session.quality === null ? {} : { quality: session.quality }),
  ...(session.components === null ? {} : { components: { ...session.components } }),
  flags: [...session.flags],
  ...(session.scoring === null ? {} : { scoring: session.scoring }),
  evidence: session.evidence.map((item) => ({ ...item })),
  ...(session.telemetry === null ? {} : { telemetry: { ...session.telemetry } }),
  ...(session.challenge === null ? {} : { challenge: session.challenge }),
  ...(session.jkt === null ? {} : { cnf: { jkt: session.jkt } }),
})

/** The agent for which a credential is minted. */
type MintTenant = { readonly agentId: string; readonly mode: Mode }
type SessionCredentialInput = {
  readonly agent: MintTenant
  readonly session: Session
  readonly assuranceInputs: SessionAssuranceInputs
  readonly at: Date
}
/** Drafts the credential of a session. */
export const draftSessionCredential = (
  deps: CredentialsDeps,
  { agent, session, assuranceInputs, at }: SessionCredentialInput,
) => {
  const kind = credentialKindOf[session.kind]
  const credentialId = deps.ctx.ids.make('crd_')
  const frame = commonClaims({
    baseUrl: deps.ctx.config.BASE_URL,
    mode: agent.mode,
    kind,
    at,
  })
  const claims = {
    ...frame,
    jti: credentialId,
    ...sessionClaims(deps, agent, session),
    ...assuranceInputs.claim,
    assurance: assuranceInputs.assurance,
    ...kindClaim(session),
  }
  return {
    claims,
    answer: {
      verified: true,
      quality: session.quality ?? 0,
      credentialId,
      kind,
      assurance: claims.assurance,
      expiresAt: new Date(claims.exp * 1_000).toISOString(),
      ...(session.telemetry === null ? {} : { telemetry: { ...session.telemetry } }),
    },
    salt: null,
    simulated: session.simulated,
  }
}

export type VerifyAnswer = ReturnType<typeof draftSessionCredential>['answer']

/** Adds the view token: it is derived from the session, so it is not stored. */
export const withViewToken = (
  deps: CredentialsDeps,
  agent: Agent,
  session: Pick<Session, 'sessionId' | 'at'>,
  answer: ApiResponse<WithToken<VerifyAnswer>>,
) => {
  if (answer.body.kind !== 'view') return answer
  const vt = makeViewToken(deps.ctx.secrets.derive('vt'), {
    agentId: agent.agentId,
    mode: agent.mode,
    sessionId: session.sessionId,
    viewedAt: session.at,
  })
  return new ApiResponse({ ...answer.body, vt }, answer.options)
}

/** One call of verify; calls are minted in batches. */
export type VerifyRequest = { readonly agent: Agent; readonly input: Input }
export type VerifyResponse = ApiResponse<WithToken<VerifyAnswer>>

/** Spends one credit and mints the credential of a verified session, once. */
export const verify = async (
  ctx: Ctx,
  mintQueued: (request: VerifyRequest) => Promise<VerifyResponse>,
  request: VerifyRequest,
) => {
  const { agent, input } = request
  // The sandbox creates the session on demand, outside the batch, so that simulated calls do not delay live ones.
  if (agent.mode === 'test')
    await inTransaction(ctx, agent.agentId, (tx) =>
      resolveSession(tx, agent, input.sessionId, input.challenge),
    )
  return mintQueued(request)
}
