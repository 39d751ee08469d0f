import { inTransaction } from '../platform/db/db.ts'
import type { Agent } from '../platform/http/call.ts'
import type { CheckDeps } from './check.ts'

/** The outside issuers that serve an agent: those of the operator, and those of its owners. */
export const list = ({ ctx, issuers }: CheckDeps, { agentId }: Agent) =>
  inTransaction(ctx, agentId, async (tx) => ({
    issuers: (await issuers.list(tx, agentId)).map((issuer) => ({
      name: issuer.name,
      issuerId: issuer.issuerId,
      kind: issuer.kind,
      maxLevel: issuer.maxLevel,
      counted: issuer.counted,
      lifeHours: issuer.lifeDays * 24,
      isOwn: issuer.isOwn,
    })),
  }))
