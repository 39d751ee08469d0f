import { inTransaction } from '../../platform/db/db.ts'
import type { Agent } from '../../platform/http/call.ts'
import { logChange } from './administrator.ts'
import type { CompaniesDeps } from './deps.ts'
import { unknownCompany } from './present.ts'
import { deleteCompany } from './store.ts'

/** Removes a company with its secret, and withdraws what it vouched for: nothing rests on it from this moment. */
export const remove = async (deps: CompaniesDeps, agent: Agent, issuerId: string) => {
  const { ctx, withdrawProofs } = deps
  // Proofs belong to people, whom no agent sees.
  await inTransaction(ctx, 'system', async (tx) => {
    if (!(await deleteCompany(tx, agent.agentId, issuerId))) throw unknownCompany()
    await withdrawProofs(tx, issuerId)
  })
  logChange(ctx, agent, { action: 'remove', issuerId })
  return { issuerId, removed: true as const }
}
