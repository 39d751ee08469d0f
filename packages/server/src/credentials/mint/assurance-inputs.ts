import type { Assurance, Mode, RootClaim } from '@pohf/protocol'
import type { Agent } from '../../platform/http/call.ts'
import type { Tx } from '../../platform/db/db.ts'
import {
  assuranceOf,
  evidenceItem,
  findDevice,
  findDevices,
  isHardware,
  memberVerdictMs,
  simulatedAttention,
  strongestRoot,
  type Device,
} from '../../evidence/index.ts'
import { resolveMember, type Member } from '../../members/index.ts'
import type { StrongRoot } from '../../roots/index.ts'
import type { Session } from '../../sessions/index.ts'
import { deviceClaim } from '../rules.ts'
import { rootClaim } from './root-claim.ts'

export type EnrolledMember = Extract<Member, { status: 'enrolled' }>
type Subject = { readonly agent: Agent; readonly memberId: string; readonly member: EnrolledMember }

/** What the assurance of a credential rests on. */
type Strength = {
  readonly assurance: Assurance
  /** The root that the credential spends from, besides the network; undefined at `low`. */
  readonly strong: StrongRoot | undefined
  /** The claims `device` and `root` of the credential. */
  readonly claim: ReturnType<typeof deviceClaim> & { readonly root?: RootClaim }
}

const strengthOf = (
  mode: Mode,
  device: Device | undefined,
  roots: { readonly external: StrongRoot | undefined; readonly payoutAccount?: StrongRoot | undefined },
): Strength => {
  const strong = strongestRoot({ payoutAccount: undefined, ...roots, device: device?.root })
  const claim = { ...deviceClaim(device), ...rootClaim(mode, strong) }
  return { assurance: assuranceOf(strong), strong, claim }
}

const externalRootOf = (member: Member | undefined): StrongRoot | undefined => {
  const proof = member?.status === 'enrolled' && !member.simulated ? member.proof : undefined
  return proof && { kind: 'external', key: proof.human, name: proof.issuer }
}

/** Assurance inputs of a member: a simulated check in the sandbox, else passkey, device and last attention check. */
export const memberAssuranceInputs = async (
  tx: Tx,
  { agent, memberId, member }: Subject,
  at: Date,
  salt: Buffer,
) => {
  const { agentId, mode } = agent
  const subjects = [{ agentId, subjectRef: memberId }]
  if (member.simulated) {
    const { quality, scoring } = simulatedAttention()
    const device = await findDevice(tx, { mode, subjects, sessionId: memberId })
    return {
      quality,
      scoring,
      ...strengthOf(mode, device, { external: undefined }),
      checkedAt: at,
      evidence: [evidenceItem(salt, 'simulated', { member: memberId })],
    }
  }
  const { attention, passkey } = member
  const attested = await findDevice(tx, {
    mode,
    subjects,
    sessionId: attention.sessionId,
    since: new Date(at.getTime() - memberVerdictMs),
  })
  // The passkey was created at the enrolment, in another act: it is shown and raises nothing.
  const own: Device = {
    method: 'webauthn',
    assurance: passkey.assurance,
    attestedAt: passkey.at,
    root: undefined,
  }
  const isShown = attested && (attested.root || isHardware(attested.assurance) || !isHardware(own.assurance))
  return {
    quality: attention.quality,
    scoring: attention.scoring,
    ...strengthOf(mode, isShown ? attested : own, { external: externalRootOf(member) }),
    checkedAt: attention.at,
    evidence: [evidenceItem(salt, 'telemetry', { member: memberId, session: attention.sessionId })],
  }
}

type MemberRef = { readonly agentId: string; readonly mode: Mode; readonly memberId: string }
/** The session of an act, and who did it. */
type ActSession = {
  readonly agent: Pick<Agent, 'mode'> & { readonly agentId: string }
  readonly session: Session
  /** For work: the worker's membership, which may be at another agent. */
  readonly worker?: MemberRef
  /** For work: the account that was paid for the worker's work. */
  readonly payoutAccount?: StrongRoot | undefined
}

/**
 * The member of a task session is claimed by the page, which proves nothing; elsewhere the agent or the person
 * named it.
 */
const memberOf = ({ agent, session, worker }: ActSession): MemberRef | undefined => {
  if (worker) return worker
  const { memberRef, kind } = session
  return memberRef === null || kind === 'task'
    ? undefined
    : { agentId: agent.agentId, mode: agent.mode, memberId: memberRef }
}

export type SessionAssuranceInputs = Strength

/** Assurance inputs of sessions: their devices in one query, and the members of the few sessions that have one. */
export const sessionAssuranceInputs = async (
  tx: Tx,
  actSessions: readonly ActSession[],
): Promise<SessionAssuranceInputs[]> => {
  const devices = await findDevices(
    tx,
    actSessions.map((act) => {
      const { agent, session } = act
      const member = memberOf(act)
      const own = { agentId: agent.agentId, subjectRef: session.sessionId }
      const named = member ? [{ agentId: member.agentId, subjectRef: member.memberId }] : []
      return { mode: agent.mode, subjects: [own, ...named], sessionId: session.sessionId }
    }),
  )
  const inputs: SessionAssuranceInputs[] = []
  for (const [index, act] of actSessions.entries()) {
    const named = memberOf(act)
    const member = named && (await resolveMember(tx, named, named.memberId))
    // For presence, the submission stored `high` only if the member's own proof counted, not if the agent named the session.
    const tookPart = act.session.kind !== 'presence' || act.session.assurance === 'high'
    const external = tookPart ? externalRootOf(member) : undefined
    const { agent, payoutAccount } = act
    // Whoever has the key of the agent can attest a device. It must not raise the assurance of decisions about its actions.
    const device = act.session.kind === 'approval' ? undefined : devices[index]
    inputs.push(strengthOf(agent.mode, device, { external, payoutAccount }))
  }
  return inputs
}
