import { isId } from '@pohf/protocol'
import type { Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { timeOfId } from '../../platform/ops/ids.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { claimsOf } from '../rules.ts'
import { presentCredential } from './rules.ts'
import { findIssued, listSessionsOfCredentials, listStates } from './store.ts'

/** An id is made shortly before its credential is stored, by the clock of a process, which can be wrong. */
const clockToleranceMs = 86_400_000

/** When a credential of this id was issued; undefined for an id of another form, which tells no time. */
const issuedBetween = (credentialId: string) => {
  if (!isId('crd_', credentialId)) return undefined
  const madeAtMs = timeOfId('crd_', credentialId).getTime()
  return { from: new Date(madeAtMs - clockToleranceMs), to: new Date(madeAtMs + clockToleranceMs) }
}

/** A credential of this agent with its token, claims and states. */
export const read = async (ctx: Ctx, { agentId, mode }: Agent, credentialId: string) =>
  inTransaction(ctx, agentId, async (tx) => {
    const row = await findIssued(tx, { agentId, mode, credentialId, made: issuedBetween(credentialId) })
    if (!row) throw new Refusal('not_found', { message: 'No such credential.' })
    const states = await listStates(tx, agentId, credentialId)
    const sessions = await listSessionsOfCredentials(tx, agentId, [credentialId])
    return {
      ...presentCredential(row, sessions.get(credentialId)),
      pohf_jwt: row.jwt,
      ...(row.statusUri === null ? {} : { statusUri: row.statusUri }),
      claims: { ...claimsOf(row.jwt) },
      changes: states.map(({ state, at }) => ({ state, at: at.toISOString() })),
    }
  })
