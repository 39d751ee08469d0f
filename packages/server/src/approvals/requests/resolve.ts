import { sandboxPolicy, sandboxTypePrefix, strictestPolicy } from '@pohf/protocol'
import type { ApprovalPolicy, Envelope } from '@pohf/verify/approvals'
import { readNow, type Tx } from '../../platform/db/db.ts'
import { actionFault } from '../administration/action-schema.ts'
import { findNewestType, type Owner, type TypeRow } from '../administration/store.ts'
import type { ApprovalsDeps } from '../deps.ts'
import { approvalRefused } from '../rules.ts'
import type { Action } from './action.ts'
import { resolveApprovers, type RequestedApprover } from './approvers.ts'
import { raisePolicy } from './policy.ts'
import { resolveTimes } from './times.ts'

/** What a request says. */
export type RequestInput = {
  readonly type: string
  readonly action: Action
  readonly requestId: string
  readonly audience?: string | undefined
  readonly approvers?: readonly string[] | undefined
  readonly group?: string | undefined
  readonly policy?:
    { readonly [Field in keyof ApprovalPolicy]?: ApprovalPolicy[Field] | undefined } | undefined
  readonly decideBy?: string | undefined
  readonly consumeBy?: string | undefined
  readonly title?: string | undefined
  readonly summary?: string | undefined
}

/** The registered type, whose schema the action must match; undefined where it is not registered, or retired. */
const resolveType = async (tx: Tx, owner: Owner, type: string, action: Action) => {
  const newest = await findNewestType(tx, owner, type)
  if (!newest || newest.retired_at) return undefined
  const fault = actionFault(newest.schema, action)
  if (fault) throw approvalRefused(`body.action${fault.path}`, 'schema', fault.message)
  return newest
}

/** The least that a request without a registered type needs. In the sandbox a prefix stands for a type. */
const unregisteredPolicy = ({ mode }: Owner, type: string): ApprovalPolicy =>
  mode === 'test' && type.startsWith(sandboxTypePrefix) ? sandboxPolicy : strictestPolicy

const requirePolicy = (
  owner: Owner,
  type: TypeRow | undefined,
  { policy: requested, type: name }: RequestInput,
): ApprovalPolicy => {
  const { policy, lowered } = raisePolicy(type?.policy ?? unregisteredPolicy(owner, name), requested)
  if (lowered !== undefined)
    throw approvalRefused(
      `body.policy.${lowered}`,
      'policy_lowered',
      type
        ? 'is lower than the action type demands'
        : 'is lower than an action without a registered type needs',
    )
  return policy
}

const requireAudience = async (
  tx: Tx,
  deps: ApprovalsDeps,
  owner: Owner,
  audience: string,
): Promise<void> => {
  if ((await deps.findAgentMode(tx, audience)) !== owner.mode)
    throw approvalRefused('body.audience', 'audience_unknown', 'no agent of this mode has this id')
}

export type ResolvedRequest = {
  readonly type: TypeRow | undefined
  readonly approvers: readonly RequestedApprover[]
  readonly envelope: Envelope
}
/** Checks a request against its type and the rules, and makes its envelope. */
export const resolveRequest = async (
  tx: Tx,
  deps: ApprovalsDeps,
  owner: Owner,
  input: RequestInput,
): Promise<ResolvedRequest> => {
  const type = await resolveType(tx, owner, input.type, input.action)
  const policy = requirePolicy(owner, type, input)
  const approvers = await resolveApprovers(tx, owner, input)
  if (policy.quorum > approvers.length)
    throw approvalRefused(
      'body.approvers',
      'quorum',
      `${policy.quorum} people must approve, and ${approvers.length} are named`,
    )
  const audience = input.audience ?? owner.agentId
  await requireAudience(tx, deps, owner, audience)
  const { delaySeconds } = policy
  const { decideBy, consumeBy } = resolveTimes(input, { now: await readNow(tx), delaySeconds })
  const envelope: Envelope = {
    audience,
    requestId: input.requestId,
    salt: deps.ctx.ids.random().slice(0, 22),
    type: input.type,
    typeVersion: type?.version ?? 0,
    action: input.action,
    approvers: approvers.map(({ approver }) => approver),
    policy,
    decideBy: decideBy.toISOString(),
    consumeBy: consumeBy.toISOString(),
    words: { title: input.title ?? '', summary: input.summary ?? '' },
  }
  return { type, approvers, envelope }
}
