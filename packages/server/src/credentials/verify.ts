import { Answer, type Agent } from '../platform/call.ts'
import { inTransaction, readNow, type Tx } from '../platform/db.ts'
import { Refusal } from '../platform/errors.ts'
import { resolveSession } from '../evidence/index.ts'
import { makeViewToken, updateSessionSealed, type Session } from '../sessions/index.ts'
import { mint, repeatOf, requireAllowance, type Deps, type Draft, type WithToken } from './mint.ts'
import { frameClaims, kindOfSession, pairwiseSubject } from './rules.ts'
import { sessionStanding } from './standing.ts'
import { findStored } from './store.ts'

type Input = { readonly sessionId: string; readonly challenge?: string | undefined }

/** Refuses a session that shows no human, in the order of its life. */
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

const requireChallenge = (session: Session, given: string | undefined): void => {
  if (given === undefined || given === session.challenge) return
  throw new Refusal('validation_failed', {
    details: [{ path: 'body.challenge', code: 'mismatch', message: 'is not the challenge of this session' }],
  })
}

const kindClaim = (session: Session) => {
  const kind = kindOfSession[session.kind]
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

/** Everything a session's credential says. */
const sessionClaims = (deps: Deps, agent: Agent, session: Session) => ({
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

const draftOf = async (tx: Tx, deps: Deps, agent: Agent, session: Session) => {
  const kind = kindOfSession[session.kind]
  const credentialId = deps.ctx.ids.make('crd_')
  const frame = frameClaims({
    baseUrl: deps.ctx.config.BASE_URL,
    mode: agent.mode,
    kind,
    at: await readNow(tx),
  })
  const standing = await sessionStanding(tx, agent, session)
  const claims = {
    ...frame,
    jti: credentialId,
    ...sessionClaims(deps, agent, session),
    ...standing.claim,
    assurance: standing.assurance,
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

type Answered = Awaited<ReturnType<typeof draftOf>>['answer']

/** Adds the view token: it is made from the session, so it need not be stored. */
const withViewToken = (
  deps: Deps,
  agent: Agent,
  session: Pick<Session, 'sessionId' | 'at'>,
  answer: Answer<WithToken<Answered>>,
) => {
  if (answer.body.kind !== 'view') return answer
  const vt = makeViewToken(deps.ctx.secrets.derive('vt'), {
    agentId: agent.agentId,
    mode: agent.mode,
    sessionId: session.sessionId,
    viewedAt: session.at,
  })
  return new Answer({ ...answer.body, vt }, answer.options)
}

/** Spends one credit and mints the credential of a human session, once. */
export const verify = async (deps: Deps, agent: Agent, input: Input) => {
  const key = {
    agentId: agent.agentId,
    mode: agent.mode,
    act: 'session',
    reference: input.sessionId,
  } as const
  const looked = await inTransaction(deps.ctx, agent.agentId, async (tx) => {
    const stored = await findStored(tx, key)
    if (stored && (!stored.expired || stored.state === 'revoked')) {
      const session = await resolveSession(tx, agent, input.sessionId)
      if (session) requireChallenge(session, input.challenge)
      return {
        repeat: withViewToken(
          deps,
          agent,
          session ?? { sessionId: input.sessionId, at: stored.mintedAt },
          repeatOf<Answered>(stored),
        ),
      }
    }
    await requireAllowance(tx, deps, agent)
    const session = requireVerified(await resolveSession(tx, agent, input.sessionId, input.challenge))
    requireChallenge(session, input.challenge)
    return {
      session,
      draft: { key, ...(await draftOf(tx, deps, agent, session)), replaces: stored?.credentialId },
    }
  })
  if (looked.repeat) return looked.repeat
  const { session, draft } = looked
  const full: Draft<Answered> = {
    ...draft,
    sessionId: session.sessionId,
    charged: true,
    within: async (tx) => {
      // A session whose credential expired is sealed already; its next credential leaves it so.
      await updateSessionSealed(
        tx,
        { agentId: agent.agentId, mode: agent.mode, sessionId: session.sessionId },
        draft.claims.jti,
      )
    },
  }
  return withViewToken(deps, agent, session, await mint(deps, full))
}
