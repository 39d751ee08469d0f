import type { Assurance, Mode } from '@pohf/protocol'
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
  orderRoots,
  proofRoot,
  type Device,
} from '../../evidence/index.ts'
import { listMemberProofs, resolveMember, type Member } from '../../members/index.ts'
import type { ShownRoot } from '../../roots/index.ts'
import type { Session } from '../../sessions/index.ts'
import { deviceClaim } from '../rules.ts'
import { rootsClaim } from './root-claim.ts'

export type EnrolledMember = Extract<Member, { status: 'enrolled' }>
type Subject = { readonly agent: Agent; readonly memberId: string; readonly member: EnrolledMember }

/** What the assurance of a credential rests on. */
type Strength = {
  readonly assurance: Assurance
  /** What the credential rests on and spends from, besides the network, the strongest first. */
  readonly roots: readonly ShownRoot[]
  /** The claims `device` and `roots` of the credential. */
  readonly claim: ReturnType<typeof deviceClaim> & ReturnType<typeof rootsClaim>
}

type Act = { readonly mode: Mode; readonly at: Date }
const strengthOf = (
  { mode, at }: Act,
  device: Device | undefined,
  others: readonly ShownRoot[],
): Strength => {
  const roots = orderRoots([...others, ...(device?.root ? [device.root] : [])])
  const claim = { ...deviceClaim(device), ...rootsClaim(mode, roots, at) }
  return { assurance: assuranceOf(roots), roots, claim }
}

const proofRootsOf = (member: Member | undefined): ShownRoot[] =>
  member?.status === 'enrolled' && !member.simulated ? member.proofs.map(proofRoot) : []

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
      ...strengthOf({ mode, at }, device, []),
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
    ...strengthOf({ mode, at }, isShown ? attested : own, proofRootsOf(member)),
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
  readonly payoutAccount?: ShownRoot | undefined
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
    const isApproval = act.session.kind === 'approval'
    const member = named && !isApproval ? await resolveMember(tx, named, named.memberId) : undefined
    // For presence, the submission stored `high` only if the member's own proof counted, not if the agent named the session.
    const tookPart = act.session.kind !== 'presence' || act.session.assurance === 'high'
    const proofs =
      named && isApproval
        ? (await listMemberProofs(tx, named)).map(proofRoot)
        : tookPart
          ? proofRootsOf(member)
          : []
    const { agent, payoutAccount } = act
    // Whoever has the key of the agent can attest a device. It must not raise the assurance of decisions about its actions.
    const device = isApproval ? undefined : devices[index]
    const at = act.session.endedAt ?? act.session.at
    inputs.push(
      strengthOf({ mode: agent.mode, at }, device, [...proofs, ...(payoutAccount ? [payoutAccount] : [])]),
    )
  }
  return inputs
}
