import type { Mode } from '@pohf/protocol'
import type { Audit, Operator } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { publish } from '../../platform/queue/outbox.ts'
import { registryRevocation } from '../onchain/token.ts'
import { findForgottenLocked, updateForgottenState } from '../restore/store.ts'
import { cellOfList, listUri, statusValues, type CredentialState } from './rules.ts'
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
const applyForgottenState = async (tx: Tx, ctx: Ctx, credentialId: string, to: CredentialState) => {
  const forgotten = await findForgottenLocked(tx, credentialId)
  if (!forgotten) throw new Refusal('not_found', { message: 'No such credential.' })
  const { agentId, list, index, state: from } = forgotten
  const mode: Mode = list.includes('-live-') ? 'live' : 'test'
  const answer = { credentialId, agentId, mode, state: to, statusUri: listUri(ctx.config.BASE_URL, list) }
  if (from === to || from === 'revoked') return { from, answer }
  await updateForgottenState(tx, credentialId, to)
  await updateEntry(tx, { listId: list, idx: index, value: statusValues[to] })
  return { from, answer }
}

/** What happens where another cell has the list: the change is refused, or recorded until that list shows it. */
type OtherCell = 'refused' | 'recorded'

/**
 * Changes a credential's state, status list entry and event in the caller's transaction. Requesting the current state
 * changes nothing; revoked is final. It locks the status list until the commit, so a transaction that also posts to
 * the ledger posts first.
 */
const applyState = async (
  tx: Tx,
  ctx: Ctx,
  { credentialId, reason, to }: StateChange & { readonly to: CredentialState },
  otherCell: OtherCell,
) => {
  const credential = await findCredentialLocked(tx, credentialId)
  if (!credential) return applyForgottenState(tx, ctx, credentialId, to)
  const { agentId, mode, statusList, statusIdx, expiresAt } = credential
  if (statusList !== null && otherCell === 'refused') refuseOtherCell(tx, statusList)
  const registry = to === 'issued' ? undefined : registryRevocation(credential.answer)
  const { seq, state: from } = await findCredentialState(tx, agentId, credentialId)
  const answer = {
    credentialId,
    agentId,
    mode,
    state: to,
    ...(statusList === null ? {} : { statusUri: listUri(ctx.config.BASE_URL, statusList) }),
    ...(registry === undefined ? {} : { registry }),
  }
  if (from === to || from === 'revoked') return { from, answer }
  await insertCredentialState(tx, { agentId, credentialId, seq: seq + 1, state: to, reason })
  if (statusList !== null && statusIdx !== null) {
    const entry = { listId: statusList, idx: statusIdx, value: statusValues[to] }
    if (isOwnList(tx, statusList)) await updateEntry(tx, entry)
    else await insertElsewhere(tx, { ...entry, credentialId, expiresAt })
  }
  const { type } = transitions[to]
  await publish(tx, { agentId, mode, type, subject: credentialId, data: { credentialId, reason } })
  return { from, answer }
}

/** An operator changes the state of a credential; the audit line is part of the transaction. */
export const changeState = async (
  { ctx, audit }: OperatorActionDeps,
  operator: Operator,
  change: StateChange,
  to: CredentialState,
) =>
  inTransaction(ctx, 'system', async (tx) => {
    const { from, answer } = await applyState(tx, ctx, { ...change, to }, 'refused')
    if (from === to) return answer
    if (from === 'revoked') throw new Refusal('credential_revoked')
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
 * Changes a state for the service itself, in the transaction of its cause. Revoked credentials stay revoked. A refund does not
 * wait for another cell: there the change is recorded, and `pohf_revocation_pending_seconds` counts until the list shows it.
 */
export type ChangeCredentialState = (
  tx: Tx,
  change: StateChange & { readonly to: CredentialState },
) => Promise<void>

export const makeChangeCredentialState =
  (ctx: Ctx): ChangeCredentialState =>
  async (tx, change) => {
    await applyState(tx, ctx, change, 'recorded')
  }
