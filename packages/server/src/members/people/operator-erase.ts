import type { Audit, Operator } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { findMember } from '../membership/store.ts'
import { eraseMember, erasePerson, type Erasure } from './erase-person.ts'

type Input = {
  readonly agentId: string
  readonly memberId: string
  readonly mode: 'live' | 'test'
  readonly reason: string
}
export type OperatorEraseDeps = Erasure & { readonly ctx: Ctx; readonly audit: Audit }

/** Erases the person behind a member on a request outside the page. The audit log does not name the person. */
export const operatorErase = async (deps: OperatorEraseDeps, operator: Operator, input: Input) =>
  inTransaction(deps.ctx, 'system', async (tx) => {
    const { agentId, mode, memberId, reason } = input
    const member = await findMember(tx, { agentId, mode, memberId })
    if (!member) throw new Refusal('not_found', { message: 'No such member.' })
    if (member.personId === null) await eraseMember(tx, deps, member)
    const memberships = member.personId === null ? 1 : await erasePerson(tx, deps, member.personId)
    await deps.audit(tx, {
      operatorId: operator.operatorId,
      action: 'member.erase',
      target: agentId,
      details: { mode, memberships, reason },
    })
    return { erased: true as const, memberships }
  })
