import { listMemberships } from '../../members/index.ts'
import { inTransaction, readNow, type Tx } from '../../platform/db/db.ts'
import type { Person } from '../../platform/http/call.ts'
import type { ApprovalsDeps } from '../deps.ts'
import { statusAt } from '../rules.ts'
import { listDecidedTurns, listWaitingTurns, type ListedTurn } from './store.ts'

/** The names of these agents; an agent that may not act is called by its id. */
export const findAgentNames = async (
  tx: Tx,
  { findAgentName }: Pick<ApprovalsDeps, 'findAgentName'>,
  agentIds: readonly string[],
): Promise<ReadonlyMap<string, string>> => {
  const names = new Map<string, string>()
  for (const agentId of new Set(agentIds)) names.set(agentId, (await findAgentName(tx, agentId)) ?? agentId)
  return names
}

const present = (turn: ListedTurn, names: ReadonlyMap<string, string>, now: Date) => ({
  approvalId: turn.approval_id,
  mode: turn.mode,
  status: statusAt({ status: turn.status, decideBy: turn.decide_by, consumeBy: turn.consume_by }, now),
  agentName: names.get(turn.agent_id) ?? turn.agent_id,
  title: turn.title,
  type: turn.type,
  createdAt: turn.created_at.toISOString(),
  decideBy: turn.decide_by.toISOString(),
  ownDecision: turn.decision,
})

/** The approvals of all agents that wait for the signed-in person's decision, and those that they decided. */
export const list = async (deps: ApprovalsDeps, { personId }: Person) =>
  inTransaction(deps.ctx, 'system', async (tx) => {
    const memberships = await listMemberships(tx, personId)
    const { waiting, hasMore } = await listWaitingTurns(tx, memberships)
    const decided = await listDecidedTurns(tx, memberships)
    const agentIds = [...waiting, ...decided].map((turn) => turn.agent_id)
    const names = await findAgentNames(tx, deps, agentIds)
    const now = await readNow(tx)
    return {
      waiting: waiting.map((turn) => present(turn, names, now)),
      hasMore,
      decided: decided.map((turn) => present(turn, names, now)),
    }
  })
