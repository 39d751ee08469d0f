import { inTransaction } from '../platform/db/db.ts'
import type { Operator } from '../platform/http/call.ts'
import { Refusal } from '../platform/http/errors.ts'
import type { LimitDeps } from './limit-grant.ts'
import { oneToOne } from './rules.ts'
import { findRate, upsertRate } from './statement/store.ts'

type NewRate = {
  readonly agentId: string
  readonly stars: number
  readonly points: number
  readonly reason: string
}

/** Sets the rate of a partner for conversions from now on; those before keep theirs. */
export const rateSet = ({ ctx, audit, findMode }: LimitDeps, operator: Operator, given: NewRate) =>
  inTransaction(ctx, 'system', async (tx) => {
    const { agentId, stars, points, reason } = given
    const mode = await findMode(tx, agentId)
    if (mode === undefined) throw new Refusal('not_found', { message: 'No such agent.' })
    const before = (await findRate(tx, { agentId, mode })) ?? oneToOne
    const rate = { stars: BigInt(stars), points: BigInt(points) }
    await upsertRate(tx, { agentId, mode }, rate, operator.operatorId)
    const shown = { stars: Number(before.stars), points: Number(before.points) }
    await audit(tx, {
      operatorId: operator.operatorId,
      action: 'partner.rate',
      target: agentId,
      details: { stars, points, before: shown, reason },
    })
    return { agentId, stars, points, before: shown }
  })
