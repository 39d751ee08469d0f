import type { FindDecisionOwner } from '../../sessions/index.ts'
import type { ApprovalsDeps } from '../deps.ts'
import { recordingOwnerOf } from './facts.ts'
import { findTurnByChallenge } from './store.ts'

/** The owner of a recording that our page opens with the challenge of a turn; undefined where none waits. */
export const makeFindDecisionOwner =
  (deps: Pick<ApprovalsDeps, 'platformAgentOf'>): FindDecisionOwner =>
  async (tx, { site, challenge }) => {
    const turn = await findTurnByChallenge(tx, challenge)
    return turn?.agentId === site ? recordingOwnerOf(deps, turn) : undefined
  }
