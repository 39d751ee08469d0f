import type { Audit, Operator } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { publish } from '../../platform/queue/outbox.ts'
import { registryRevocation } from '../onchain/token.ts'
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

/**
 * Changes a credential's state, status list entry, event and audit line in one transaction. Requesting the current
 * state changes nothing; revoked is final.
 */
export const changeState = async (
  { ctx, audit }: OperatorActionDeps,
  operator: Operator,
  { credentialId, reason }: StateChange,
  to: CredentialState,
) =>
  inTransaction(ctx, 'system', async (tx) => {
    const credential = await findCredentialLocked(tx, credentialId)
    if (!credential) throw new Refusal('not_found', { message: 'No such credential.' })
    const { agentId, mode, statusList, statusIdx } = credential
    const registry = to === 'issued' ? undefined : registryRevocation(credential.answer)
    const { seq, state } = await findCredentialState(tx, agentId, credentialId)
    const answer = {
      credentialId,
      agentId,
      mode,
      state: to,
      ...(statusList === null ? {} : { statusUri: listUri(ctx.config.BASE_URL, statusList) }),
      ...(registry === undefined ? {} : { registry }),
    }
    if (state === to) return answer
    if (state === 'revoked') throw new Refusal('credential_revoked')
    await insertCredentialState(tx, { agentId, credentialId, seq: seq + 1, state: to, reason })
    if (statusList !== null && statusIdx !== null)
      await updateEntry(tx, { listId: statusList, idx: statusIdx, value: statusValues[to] })
    const { action, type } = transitions[to]
    await publish(tx, { agentId, mode, type, subject: credentialId, data: { credentialId, reason } })
    await audit(tx, {
      operatorId: operator.operatorId,
      action,
      target: credentialId,
      details: { agentId, mode, from: state, reason },
    })
    return answer
  })
