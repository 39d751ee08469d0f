import type { Assurance } from '@pohf/protocol'
import type { Agent } from '../../platform/http/call.ts'
import type { Tx } from '../../platform/db/db.ts'
import {
  assuranceOf,
  evidenceItem,
  findDevice,
  findDevices,
  isHardware,
  simulatedAttention,
  type Device,
} from '../../evidence/index.ts'
import { resolveMember, type Member } from '../../members/index.ts'
import type { Session } from '../../sessions/index.ts'
import { deviceClaim } from '../rules.ts'

const noHistory = { good: 0, bad: 0 }

export type EnrolledMember = Extract<Member, { status: 'enrolled' }>
type Subject = { readonly agent: Agent; readonly memberId: string; readonly member: EnrolledMember }

/** Assurance inputs of a member: a simulated check in the sandbox, else passkey, device and last attention check. */
export const memberAssuranceInputs = async (
  tx: Tx,
  { agent, memberId, member }: Subject,
  at: Date,
  salt: Buffer,
) => {
  const { agentId, mode } = agent
  const attestedDevice = await findDevice(tx, { agentId, mode, subjects: [memberId] })
  if (member.simulated) {
    const { quality, scoring } = simulatedAttention()
    return {
      quality,
      scoring,
      assurance: assuranceOf({
        member: false,
        device: attestedDevice?.assurance,
        history: noHistory,
        external: false,
      }),
      checkedAt: at,
      evidence: [evidenceItem(salt, 'simulated', { member: memberId })],
      claim: deviceClaim(attestedDevice),
    }
  }
  const { attention, passkey, history, uniqueness } = member
  const own = { method: 'webauthn', assurance: passkey.assurance, attestedAt: passkey.at }
  const device =
    attestedDevice && (isHardware(attestedDevice.assurance) || !isHardware(own.assurance))
      ? attestedDevice
      : own
  const external = uniqueness === 'external'
  return {
    quality: attention.quality,
    scoring: attention.scoring,
    assurance: assuranceOf({ member: true, device: device.assurance, history, external }),
    checkedAt: attention.at,
    evidence: [evidenceItem(salt, 'telemetry', { member: memberId, session: attention.sessionId })],
    claim: deviceClaim(device),
  }
}

/**
 * The member of a task session is claimed by the page, which proves nothing; elsewhere the agent or the person
 * named it.
 */
const memberOf = (session: Session): string | undefined =>
  session.memberRef === null || session.kind === 'task' ? undefined : session.memberRef

export type SessionAssuranceInputs = {
  readonly assurance: Assurance
  readonly claim: ReturnType<typeof deviceClaim>
}
type AgentSession = {
  readonly agent: Pick<Agent, 'mode'> & { readonly agentId: string }
  readonly session: Session
}

const assuranceInputsOf = async (
  tx: Tx,
  { agent, session }: AgentSession,
  device: Device | undefined,
): Promise<SessionAssuranceInputs> => {
  const memberId = memberOf(session)
  const member = memberId === undefined ? undefined : await resolveMember(tx, agent, memberId)
  const real = member?.status === 'enrolled' && !member.simulated ? member : undefined
  return {
    assurance: assuranceOf({
      member: real !== undefined,
      device: device?.assurance,
      history: real?.history ?? noHistory,
      external: real?.uniqueness === 'external',
    }),
    claim: deviceClaim(device),
  }
}

/** Assurance inputs of sessions: their devices in one query, and the members of the few sessions that have one. */
export const sessionAssuranceInputs = async (
  tx: Tx,
  agentSessions: readonly AgentSession[],
): Promise<SessionAssuranceInputs[]> => {
  const devices = await findDevices(
    tx,
    agentSessions.map(({ agent, session }) => {
      const memberId = memberOf(session)
      const subjects = [session.sessionId, ...(memberId === undefined ? [] : [memberId])]
      return { agentId: agent.agentId, mode: agent.mode, subjects }
    }),
  )
  const inputs: SessionAssuranceInputs[] = []
  for (const [index, act] of agentSessions.entries())
    inputs.push(await assuranceInputsOf(tx, act, devices[index]))
  return inputs
}
