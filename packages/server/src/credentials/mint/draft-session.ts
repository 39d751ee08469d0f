import type { Mode } from '@pohf/protocol'
import type { Session } from '../../sessions/index.ts'
import type { HumanLimit } from '../../roots/index.ts'
import { commonClaims, credentialKindOf, limitClaim, pairwiseSubject, sessionPerson } from '../rules.ts'
import type { SessionAssuranceInputs } from './assurance-inputs.ts'
import type { CredentialsDeps } from './mint.ts'

/** The claim for the kind of the session. A decision about an approval has none here: its mint adds its claims. */
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
  if (kind === 'approval') return {}
  return {
    presence: {
      session: session.sessionId,
      source: session.source === 'receipt' ? ('receipt' as const) : ('geo_photo' as const),
    },
  }
}

/** The questions by kind; nothing where no page recorded the session, or an older version scored it. */
export const probesClaim = ({ counted }: Session) =>
  counted?.pictures && counted.words ? { probes: { pictures: counted.pictures, words: counted.words } } : {}

/** The agent for which a credential is minted. */
type MintTenant = { readonly agentId: string; readonly mode: Mode }

const sessionClaims = (deps: Pick<CredentialsDeps, 'ctx'>, agent: MintTenant, session: Session) => ({
  sub: pairwiseSubject(deps.ctx.secrets.derive('pairwise'), agent.agentId, sessionPerson(session)),
  agent: agent.agentId,
  event_at: Math.floor((session.endedAt ?? session.at).getTime() / 1_000),
  ...(session.quality === null ? {} : { quality: session.quality }),
  ...(session.components === null ? {} : { components: { ...session.components } }),
  flags: [...session.flags],
  ...(session.scoring === null ? {} : { scoring: session.scoring }),
  ...probesClaim(session),
  evidence: session.evidence.map((item) => ({ ...item })),
  ...(session.telemetry === null ? {} : { telemetry: { ...session.telemetry } }),
  ...(session.challenge === null ? {} : { challenge: session.challenge }),
  ...(session.jkt === null ? {} : { cnf: { jkt: session.jkt } }),
})

type SessionCredentialInput = {
  readonly agent: MintTenant
  readonly session: Session
  readonly assuranceInputs: SessionAssuranceInputs
  /** The limit for each human that the mint counts. */
  readonly limit?: HumanLimit | undefined
  readonly at: Date
}
/** Drafts the credential of a session: its claims, and the response body without the token. */
export const draftSessionCredential = (
  deps: Pick<CredentialsDeps, 'ctx'>,
  { agent, session, assuranceInputs, limit, at }: SessionCredentialInput,
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
    ...limitClaim(limit),
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
