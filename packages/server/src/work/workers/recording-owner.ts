import type { Tx } from '../../platform/db/db.ts'
import type { AgentId } from '../../platform/ops/ids.ts'
import type { PlatformLedger } from '../deps.ts'
import { findClaimedByChallenge, type Assignment } from './store.ts'

/**
 * The agent that owns the recording of an assignment. A known-answer item names the site of the unit that it is shown
 * for, and its recording belongs to the platform agent: the buyer did not pay for it and does not see it.
 */
export const recordingOwnerOf = (
  { platformAgentOf }: PlatformLedger,
  { knownItem, mode, agentId }: Assignment,
): AgentId => (knownItem ? platformAgentOf(mode) : agentId)

/** The owner of a recording that a page of this site starts with the challenge of an assignment. */
export const makeFindRecordingOwner =
  (platformLedger: PlatformLedger) =>
  async (
    tx: Tx,
    { site, challenge }: { readonly site: AgentId; readonly challenge: string },
  ): Promise<AgentId> => {
    const assignment = await findClaimedByChallenge(tx, challenge)
    return assignment?.agentId === site ? recordingOwnerOf(platformLedger, assignment) : site
  }
