import { envelopeHash } from '@pohf/verify/approvals'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import type { Agent, StoreResult } from '../../platform/http/call.ts'
import { logChange } from '../administration/administrator.ts'
import type { ApprovalsDeps } from '../deps.ts'
import { requireAction } from '../requests/action.ts'
import { resolveRequest } from '../requests/resolve.ts'
import { writeApproval } from '../requests/write.ts'
import { approvalConflict, approvalRefused, isSimulatedApprover } from '../rules.ts'
import { lockApprovalsOf } from '../store.ts'
import { knownBadOf } from './known-bad-list.ts'
import { countKnownBad, findKnownBad } from './store.ts'

type Input = {
  readonly type: string
  readonly action?: unknown
  readonly approvers: readonly string[]
  readonly reason: string
  readonly requestId?: string | undefined
  readonly title?: string | undefined
  readonly summary?: string | undefined
  readonly decideBy?: string | undefined
}

/** In a week, which is the longest time that a request can wait. */
const knownBadPerWeekMax = 1_000

const requireRoom = async (tx: Tx, agent: Agent): Promise<void> => {
  if ((await countKnownBad(tx, agent)) >= knownBadPerWeekMax)
    throw approvalConflict(
      'body',
      'too_many_known_bad',
      `at most ${knownBadPerWeekMax} known-bad requests of an agent are sent in a week`,
    )
}

/** A simulated approver mints, and a known-bad request must not. */
const requirePeople = ({ mode }: Agent, approvers: readonly string[]): void => {
  if (approvers.some((approver) => isSimulatedApprover(mode, approver)))
    throw approvalRefused(
      'body.approvers',
      'approver_simulated',
      'only people can decide a known-bad request',
    )
}

/**
 * Sends a request that should be denied. Everything that an approver sees is as for a real one: the same checks, envelope, mail and
 * page. It has no event, and its row is under its own id, so that no reference of the agent's own can meet it.
 */
export const knownBadCreate = async (
  deps: ApprovalsDeps,
  agent: Agent,
  { reason, ...given }: Input,
  storeResult: StoreResult,
) => {
  requirePeople(agent, given.approvers)
  const action = requireAction(given.action)
  return inTransaction(deps.ctx, 'system', async (tx) => {
    await lockApprovalsOf(tx, agent)
    await requireRoom(tx, agent)
    const key = { agentId: agent.agentId, mode: agent.mode, approvalId: tx.ids.make('apl_') }
    const input = { ...given, action, requestId: given.requestId ?? deps.ctx.ids.random().slice(0, 12) }
    const resolved = await resolveRequest(tx, deps, agent, input)
    // It has no repeats to recognise, so that the hash of its envelope does.
    const requestHash = Buffer.from(await envelopeHash(resolved.envelope), 'base64url')
    await writeApproval(tx, deps, key, { ...resolved, requestHash, knownBad: reason })
    logChange(deps.ctx, agent, { action: 'known-bad-create', target: key.approvalId })
    const written = await findKnownBad(tx, key)
    if (!written) throw new Error(`known-bad request ${key.approvalId} not found after it was written`)
    return storeResult(tx, knownBadOf(written))
  })
}
