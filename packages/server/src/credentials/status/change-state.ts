import type { Mode } from '@pohf/protocol'
import type { Audit, Operator } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { publish } from '../../platform/queue/outbox.ts'
import { registryRevocation } from '../onchain/token.ts'
import { findForgottenLocked, updateForgottenState } from '../restore/store.ts'
import { listUri, statusValues, type CredentialState } from './rules.ts'
import { updateEntry } from './store.ts'
import { findCredentialLocked, findCredentialState, insertCredentialState } from '../store.ts'

/** Dependencies of the operator actions. */
export type OperatorActionDeps = { readonly ctx: Ctx; readonly audit: Audit }
export type StateChange = { readonly credentialId: string; readonly reason: string }

const transitions = {
  issued: { action: 'credential.reinstate', type: 'credential.reinstated' },
  suspended: { action: 'credential.suspend', type: 'credential.suspended' },
  revoked: { action: 'credential.revoke', type: 'credential.revoked' },
} as const

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

/**
 * Changes a credential's state, status list entry and event in the caller's transaction. Requesting the current state
 * changes nothing; revoked is final. It locks the status list until the commit, so a transaction that also posts to
 * the ledger posts first.
 */
const applyState = async (tx: Tx, ctx: Ctx, { credentialId, reason }: StateChange, to: CredentialState) => {
  const credential = await findCredentialLocked(tx, credentialId)
  if (!credential) return applyForgottenState(tx, ctx, credentialId, to)
  const { agentId, mode, statusList, statusIdx } = credential
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
  if (statusList !== null && statusIdx !== null)
    await updateEntry(tx, { listId: statusList, idx: statusIdx, value: statusValues[to] })
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
    const { from, answer } = await applyState(tx, ctx, change, to)
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

/** Changes a state for the service itself, in the transaction of its cause. Revoked credentials stay revoked. */
export type ChangeCredentialState = (
  tx: Tx,
  change: StateChange & { readonly to: CredentialState },
) => Promise<void>

export const makeChangeCredentialState =
  (ctx: Ctx): ChangeCredentialState =>
  async (tx, { to, ...change }) => {
    await applyState(tx, ctx, change, to)
  }
