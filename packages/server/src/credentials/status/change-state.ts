import type { Mode } from '@pohf/protocol'
import type { Audit, Operator } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { publish } from '../../platform/queue/outbox.ts'
import { registryRevocation } from '../onchain/token.ts'
import { findForgottenLocked, updateForgottenState } from '../restore/store.ts'
import {
  cellOfList,
  listUri,
  stateAfter,
  statusValues,
  type CredentialState,
  type StateRequest,
  type SuspensionGround,
} from './rules.ts'
import { insertElsewhere, isOwnList, updateEntry } from './store.ts'
import { findCredentialLocked, findCredentialState, insertCredentialState } from '../store.ts'

/** Dependencies of the operator actions. */
export type OperatorActionDeps = { readonly ctx: Ctx; readonly audit: Audit }
export type StateChange = { readonly credentialId: string; readonly reason: string }

const transitions = {
  issued: { action: 'credential.reinstate', type: 'credential.reinstated' },
  suspended: { action: 'credential.suspend', type: 'credential.suspended' },
  revoked: { action: 'credential.revoke', type: 'credential.revoked' },
} as const

/** Another cell publishes the list: only a change there is seen by verifiers. */
const refuseOtherCell = (tx: Tx, listId: string): void => {
  if (isOwnList(tx, listId)) return
  const owner = cellOfList(listId)
  const message = `The status list ${listId} belongs to cell ${owner}, and this is cell ${tx.ids.cell}. Nothing was changed: change the state in cell ${owner}.`
  throw new Refusal('not_found', {
    message,
    details: [{ path: 'params.credentialId', code: 'other_cell', message }],
  })
}

/** The same for a credential that was issued and that a restored database does not have: it has no event. */
const applyForgottenState = async (tx: Tx, ctx: Ctx, credentialId: string, request: StateRequest) => {
  const forgotten = await findForgottenLocked(tx, credentialId)
  if (!forgotten) throw new Refusal('not_found', { message: 'No such credential.' })
  const { agentId, list, index, state: from } = forgotten
  const mode: Mode = list.includes('-live-') ? 'live' : 'test'
  const state = request.to
  const answer = { credentialId, agentId, mode, state, statusUri: listUri(ctx.config.BASE_URL, list) }
  const after = stateAfter(forgotten, request)
  if (!after) return { from, isChanged: false, answer }
  await updateForgottenState(tx, credentialId, after)
  if (after.state !== from)
    await updateEntry(tx, { listId: list, idx: index, value: statusValues[after.state] })
  return { from, isChanged: true, answer }
}

/** What happens where another cell has the list: the change is refused, or recorded until that list shows it. */
type OtherCell = 'refused' | 'recorded'

/**
 * Changes a credential's state, status list entry and event in the caller's transaction. Requesting the current state
 * changes nothing; revoked is final. One more ground of a suspension, or one less while another is left, is only recorded. It
 * locks the status list until the commit, so a transaction that also posts to the ledger posts first.
 */
const applyState = async (
  tx: Tx,
  ctx: Ctx,
  { credentialId, reason, ...request }: StateChange & StateRequest,
  otherCell: OtherCell,
) => {
  const credential = await findCredentialLocked(tx, credentialId)
  if (!credential) return applyForgottenState(tx, ctx, credentialId, request)
  const { to } = request
  const { agentId, mode, statusList, statusIdx, expiresAt } = credential
  if (statusList !== null && otherCell === 'refused') refuseOtherCell(tx, statusList)
  const registry = to === 'issued' ? undefined : registryRevocation(credential.answer)
  const { seq, ...held } = await findCredentialState(tx, agentId, credentialId)
  const from = held.state
  const answer = {
    credentialId,
    agentId,
    mode,
    state: to,
    ...(statusList === null ? {} : { statusUri: listUri(ctx.config.BASE_URL, statusList) }),
    ...(registry === undefined ? {} : { registry }),
  }
  const after = stateAfter(held, request)
  if (!after) return { from, isChanged: false, answer }
  await insertCredentialState(tx, { agentId, credentialId, seq: seq + 1, reason, ...after })
  if (after.state === from) return { from, isChanged: true, answer }
  if (statusList !== null && statusIdx !== null) {
    const entry = { listId: statusList, idx: statusIdx, value: statusValues[after.state] }
    if (isOwnList(tx, statusList)) await updateEntry(tx, entry)
    else await insertElsewhere(tx, { ...entry, credentialId, expiresAt })
  }
  const { type } = transitions[after.state]
  await publish(tx, { agentId, mode, type, subject: credentialId, data: { credentialId, reason } })
  return { from, isChanged: true, answer }
}

const operatorRequest = (to: CredentialState): StateRequest =>
  to === 'revoked' ? { to, ground: undefined } : { to, ground: 'operator' }

/** An operator changes the state of a credential; the audit line is part of the transaction. */
export const changeState = async (
  { ctx, audit }: OperatorActionDeps,
  operator: Operator,
  change: StateChange,
  to: CredentialState,
) =>
  inTransaction(ctx, 'system', async (tx) => {
    const { from, isChanged, answer } = await applyState(
      tx,
      ctx,
      { ...change, ...operatorRequest(to) },
      'refused',
    )
    if (from === 'revoked' && to !== 'revoked') throw new Refusal('credential_revoked')
    if (!isChanged) return answer
    const { agentId, mode } = answer
    await audit(tx, {
      operatorId: operator.operatorId,
      action: transitions[to].action,
      target: change.credentialId,
      details: { agentId, mode, from, reason: change.reason },
    })
    return answer
  })

/**
 * Changes a state in the transaction of its cause. A suspension, and its end, is an operator's unless a ground is given; a
 * revocation with a ground changes only a credential that the ground keeps suspended. Revoked credentials stay revoked. The
 * cause does not wait for another cell: there the change is recorded, and `pohf_revocation_pending_seconds` counts until the
 * list shows it.
 */
export type ChangeCredentialState = (
  tx: Tx,
  change: StateChange & { readonly to: CredentialState; readonly ground?: SuspensionGround },
) => Promise<void>

export const makeChangeCredentialState =
  (ctx: Ctx): ChangeCredentialState =>
  async (tx, { to, ground, ...change }) => {
    const request: StateRequest =
      to === 'revoked' ? { to, ground } : { to, ground: ground ?? ('operator' as const) }
    await applyState(tx, ctx, { ...change, ...request }, 'recorded')
  }
