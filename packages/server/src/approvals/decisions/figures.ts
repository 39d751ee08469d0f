import { listMemberships } from '../../members/index.ts'
import { inTransaction } from '../../platform/db/db.ts'
import type { Person } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { figuresOf } from '../effectiveness/rules.ts'
import { countOwnDecisions, listOwnKnownBad } from '../effectiveness/store.ts'

/** The signed-in person's figures over all agents, and the known-bad requests that they decided. */
export const figures = (ctx: Ctx, { personId }: Person) =>
  inTransaction(ctx, 'system', async (tx) => {
    const memberships = await listMemberships(tx, personId)
    const knownBad = await listOwnKnownBad(tx, memberships)
    return {
      figures: figuresOf(await countOwnDecisions(tx, memberships)),
      knownBad: knownBad.map(({ decidedAt, ...one }) => ({ ...one, decidedAt: decidedAt.toISOString() })),
    }
  })
