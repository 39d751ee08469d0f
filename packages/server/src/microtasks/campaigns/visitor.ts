import type { Mode } from '@pohf/protocol'
import type { Agent } from '../../platform/http/call.ts'
import { inTransaction, readNow, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { makeVisitorToken, visitorMinutes } from '../token.ts'

/** Provided by the wiring: whether a member of the agent is enrolled, and why not; undefined where there is none. */
export type FindMemberState = (
  tx: Tx,
  agent: { readonly agentId: string; readonly mode: Mode },
  memberId: string,
) => Promise<
  { readonly status: 'enrolled' } | { readonly status: 'refused'; readonly reason: string } | undefined
>

/** A token by which a page of the agent names a member as its visitor, for an hour. */
export const visitor = async (
  ctx: Ctx,
  { agentId, mode }: Agent,
  memberId: string,
  findMemberState: FindMemberState,
) =>
  inTransaction(ctx, agentId, async (tx) => {
    const member = await findMemberState(tx, { agentId, mode }, memberId)
    if (!member) throw new Refusal('not_found')
    if (member.status === 'refused')
      throw new Refusal('member_not_enrolled', {
        details: [{ path: 'body.memberId', code: member.reason, message: 'is not enrolled' }],
      })
    const expiresAt = new Date((await readNow(tx)).getTime() + visitorMinutes * 60_000)
    return {
      visitor: makeVisitorToken(ctx, { agentId, mode, memberId, expiresAt }),
      expiresAt: expiresAt.toISOString(),
    }
  })
