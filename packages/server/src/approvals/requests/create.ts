import { createHash } from 'node:crypto'
import { canonicalJson } from '@pohf/verify/approvals'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import type { Agent } from '../../platform/http/call.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { decideSimulated } from '../decisions/simulated.ts'
import type { ApprovalsDeps } from '../deps.ts'
import { presentApproval } from '../present.ts'
import { approvalConflict, pendingMax, type ApprovalKey } from '../rules.ts'
import { countPending, findApproval, findApprovalByRequest, lockApprovalsOf } from '../store.ts'
import { requireAction } from './action.ts'
import { resolveRequest, type RequestInput } from './resolve.ts'
import { writeApproval } from './write.ts'

// A request for approval, from top to bottom: check what it says by itself, find an earlier request with its reference,
// resolve type, policy, approvers and times, then write everything in one transaction.

type Input = Omit<RequestInput, 'action'> & { readonly action?: unknown }

/** Asks people to approve an action. The same request again returns the same approval. */
export const create = async (deps: ApprovalsDeps, agent: Agent, input: Input) => {
  const action = requireAction(input.action)
  const key = await inTransaction(deps.ctx, 'system', (tx) =>
    findOrWrite(tx, deps, agent, { ...input, action }),
  )
  // In the sandbox, simulated approvers decide at once. Where that failed, a repeat of the request tries again.
  await decideSimulated(deps, key)
  return inTransaction(deps.ctx, 'system', async (tx) => {
    const written = await findApproval(tx, key)
    if (!written) throw new Error(`approval ${key.approvalId} not found after it was requested`)
    return presentApproval(tx, deps, written)
  })
}

/** Writes the approval of a request, or finds the one that an equal request has. */
const findOrWrite = async (
  tx: Tx,
  deps: ApprovalsDeps,
  agent: Agent,
  input: RequestInput,
): Promise<ApprovalKey> => {
  const { agentId, mode } = agent
  const requestHash = requestHashOf(input)
  await lockApprovalsOf(tx, agent)
  const earlier = await findApprovalByRequest(tx, agent, input.requestId)
  if (earlier && !earlier.requestHash.equals(requestHash))
    throw approvalConflict(
      'body.requestId',
      'request_id_reused',
      'another request has this requestId, and it differs from this one',
    )
  if (earlier) return earlier
  await requireRoom(tx, deps, agent)
  const resolved = await resolveRequest(tx, deps, agent, input)
  const key = { agentId, mode, approvalId: tx.ids.make('apl_') }
  await writeApproval(tx, deps, key, { ...resolved, requestHash, knownBad: null })
  return key
}

/** The hash of a request before defaults are applied, because defaults such as deadlines depend on the time of the call. */
const requestHashOf = (input: RequestInput): Buffer => {
  const { type, action, requestId, audience, approvers, group, policy, decideBy, consumeBy, title, summary } =
    input
  const said = {
    type,
    action,
    requestId,
    audience: audience ?? null,
    approvers: approvers?.toSorted() ?? null,
    group: group ?? null,
    policy: Object.fromEntries(
      Object.entries(policy ?? {}).flatMap(([field, value]) => (value === undefined ? [] : [[field, value]])),
    ),
    decideBy: decideBy ?? null,
    consumeBy: consumeBy ?? null,
    title: title ?? '',
    summary: summary ?? '',
  }
  return createHash('sha256').update(canonicalJson(said)).digest()
}

const requireRoom = async (tx: Tx, deps: ApprovalsDeps, agent: Agent): Promise<void> => {
  if ((await countPending(tx, agent)) >= pendingMax)
    throw approvalConflict(
      'body',
      'too_many_pending',
      `at most ${pendingMax} requests of an agent wait at once`,
    )
  // Each decision spends a credit when it is made. Refuse an agent without credits before people are asked in vain.
  if (!(await deps.hasAllowance(tx, agent))) throw new Refusal('insufficient_credits')
}
