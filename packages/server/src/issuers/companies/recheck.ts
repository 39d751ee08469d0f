import { inTransaction } from '../../platform/db/db.ts'
import type { Job } from '../../platform/queue/worker.ts'
import { proveCompany, type ProveDeps } from './prove.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { claimDueChecks, updateChecked, type CompanyRow } from './store.ts'

/** Checks at once: each is a question to name servers and one or two calls, with limits in time. */
const batchMax = 10

/** Checks the companies that are due; returns how many. */
const recheck = async (deps: ProveDeps & { readonly ctx: Ctx }): Promise<number> => {
  const { ctx } = deps
  const due = await inTransaction(ctx, 'system', (tx) => claimDueChecks(tx, batchMax))
  const check = async (company: CompanyRow): Promise<void> => {
    const fault = await proveCompany(deps, company)
    await inTransaction(ctx, 'system', (tx) => updateChecked(tx, company, fault))
    if (fault !== undefined && company.fault === null)
      ctx.log.warn(
        { agentId: company.agent_id, issuerId: company.issuer_id, domain: company.domain, fault },
        'a company is no longer proved; it stops serving in three days',
      )
  }
  await Promise.all(due.map(check))
  return due.length
}

export const recheckJob = (deps: ProveDeps & { readonly ctx: Ctx }): Job => ({
  name: 'companies',
  everyMs: 60_000,
  run: () => recheck(deps),
})
