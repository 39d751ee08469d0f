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

/** Refuses simulated approvers: their decisions mint credentials, and a known-bad request must mint none. */
const requirePeople = ({ mode }: Agent, approvers: readonly string[]): void => {
  if (approvers.some((approver) => isSimulatedApprover(mode, approver)))
    throw approvalRefused(
      'body.approvers',
      'approver_simulated',
      'only people can decide a known-bad request',
    )
}

/**
 * Sends a request that should be denied. For an approver it equals a real one: it has the same checks, envelope, mail and
 * page. It publishes no event. Its row has its own id as request id, so that no request id of the agent can conflict with
 * it.
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
    // The request hash recognises a repeat of a real request. A known-bad request has none: store the hash of its envelope.
    const requestHash = Buffer.from(await envelopeHash(resolved.envelope), 'base64url')
    await writeApproval(tx, deps, key, { ...resolved, requestHash, knownBad: reason })
    logChange(deps.ctx, agent, { action: 'known-bad-create', target: key.approvalId })
    const written = await findKnownBad(tx, key)
    if (!written) throw new Error(`known-bad request ${key.approvalId} not found after it was written`)
    return storeResult(tx, knownBadOf(written))
  })
}
