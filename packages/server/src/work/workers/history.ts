import type { Session } from '../../sessions/index.ts'
import type { Tx } from '../../platform/db/db.ts'
import { countActs, findClaimedByChallenge } from './store.ts'

/**
 * The history of the worker whose work this session records: their acts for the same buyer, who knows them all. Acts for
 * other buyers do not count, because the score would tell this buyer about them.
 */
export const findWorkHistory = async (
  tx: Tx,
  { kind, challenge }: Session,
): Promise<{ readonly good: number; readonly bad: number } | undefined> => {
  if (kind !== 'work' || challenge === null) return undefined
  const assignment = await findClaimedByChallenge(tx, challenge)
  if (!assignment || assignment.personId === null) return undefined
  const { personId, site, mode } = assignment
  return countActs(tx, { personId, agentId: site, mode })
}
