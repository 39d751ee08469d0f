import type { Mode } from '@pohf/protocol'
import type { AgentId } from '../../platform/ops/ids.ts'
import type { MemberKey } from './store.ts'

/** Injected by the wiring: the platform agent of a mode. */
export type PlatformAgentOf = (mode: Mode) => AgentId

/**
 * The agents under which sessions of a member are stored: the member's agent, which records on its own pages, and the
 * platform agent. Attention checks belong to the platform agent, so that no agent can read their recordings and compare
 * the motion of a person with that of another agent's member.
 */
export const sessionOwnersOf = (
  platformAgentOf: PlatformAgentOf,
  { agentId, mode, memberId }: MemberKey,
): MemberKey[] => [
  { agentId, mode, memberId },
  { agentId: platformAgentOf(mode), mode, memberId },
]
