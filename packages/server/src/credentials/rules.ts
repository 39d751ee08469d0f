import {
  lifetimeDays,
  testLifetimeDays,
  type CredentialClaims,
  type CredentialKind,
  type CredentialPolicy,
  type Mode,
} from '@pohf/protocol'
import type { HumanLimit, ShownRoot } from '../roots/index.ts'
import type { Session, SessionKind } from '../sessions/index.ts'
import { hmacOf } from '../platform/ops/secrets.ts'

export const credentialKindOf: Readonly<Record<SessionKind, 'view' | 'work' | 'presence' | 'approval'>> = {
  view: 'view',
  work: 'work',
  task: 'work',
  presence: 'presence',
  approval: 'approval',
}

/** The pairwise identifier of a person at this agent (different at every agent). */
export const pairwiseSubject = (key: Buffer, agentId: string, person: string): string =>
  `psu_${hmacOf(key).update(agentId).update('\0').update(person).digest('base64url').slice(0, 32)}`

/**
 * The person of a session: the member that the agent or the person named, else the key of the browser. For a micro-task the
 * page names the visitor and can name anybody, so that name has a prefix and never equals a member's.
 */
export const sessionPerson = ({
  kind,
  memberRef,
  jkt,
  sessionId,
}: Pick<Session, 'kind' | 'memberRef' | 'jkt' | 'sessionId'>): string =>
  kind === 'task' && memberRef !== null ? `visitor ${memberRef}` : (memberRef ?? jkt ?? sessionId)

export const issuerOf = (baseUrl: string, mode: Mode): string =>
  mode === 'test' ? `${baseUrl}/test` : baseUrl

type ClaimsContext = {
  readonly baseUrl: string
  readonly mode: Mode
  readonly kind: CredentialKind
  readonly at: Date
}
/** The claims common to all credentials. */
export const commonClaims = ({ baseUrl, mode, kind, at }: ClaimsContext) => {
  const iat = Math.floor(at.getTime() / 1_000)
  const days = mode === 'test' ? testLifetimeDays : lifetimeDays[kind]
  return {
    iss: issuerOf(baseUrl, mode),
    iat,
    exp: iat + days * 86_400,
    vct: `${baseUrl}/credentials/${kind}/v1`,
    kind,
    verified: true as const,
    ...(mode === 'test' ? { test: true as const } : {}),
  }
}

/** The kinds that an agent's policy has a floor and a limit for. */
export const policyOf = (policy: CredentialPolicy, kind: CredentialKind) =>
  kind === 'binding' || kind === 'purchase' || kind === 'approval' ? undefined : policy[kind]

/** The agent's limit of acts of a kind for each human; undefined where it has none, or no root of the act counts humans. */
export const limitOf = (
  { mode, policy }: { readonly mode: Mode; readonly policy: CredentialPolicy },
  kind: CredentialKind,
  roots: readonly ShownRoot[],
): HumanLimit | undefined => {
  const perHumanDay = policyOf(policy, kind)?.maxActsPerHumanPerDay
  return mode === 'live' && perHumanDay !== undefined && roots.some(({ counted }) => counted)
    ? { kind, perHumanDay }
    : undefined
}
export const limitClaim = (limit: HumanLimit | undefined) =>
  limit === undefined ? {} : { limit: { perHumanDay: limit.perHumanDay } }

/** A personhood credential is returned again until two thirds of its lifetime have passed, then minted anew. */
export const isFresh = (mintedAt: Date, expiresAt: Date, at: Date): boolean =>
  at.getTime() < mintedAt.getTime() + ((expiresAt.getTime() - mintedAt.getTime()) * 2) / 3

/** The claims of a stored credential. It was signed here, so they have their form. */
export const claimsOf = (jwt: string): CredentialClaims =>
  JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString('utf8')) as CredentialClaims

type DeviceProof = { readonly method: string; readonly assurance: string; readonly attestedAt: Date }
export const deviceClaim = (device: DeviceProof | undefined) =>
  device === undefined
    ? {}
    : {
        device: {
          method: device.method,
          assurance: device.assurance,
          attested_at: Math.floor(device.attestedAt.getTime() / 1_000),
        },
      }

export type VerifyAttempt = 'first' | 'retry'
/**
 * Whether the load must look for a stored credential. A mint seals its session in the same statement, so a session that is
 * scored and not sealed has none. If it gets one after the load, the mint answers `lost`, and the retry looks for every
 * credential.
 */
export const mayHaveCredential = (session: Session | undefined, attempt: VerifyAttempt): boolean =>
  attempt === 'retry' || session?.status !== 'scored'
