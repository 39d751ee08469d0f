import { inTransaction, readNow } from '../../platform/db/db.ts'
import type { Agent } from '../../platform/http/call.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { logChange } from './administrator.ts'
import type { CompaniesDeps } from './deps.ts'
import { faultRefusal, presentCompany, unknownCompany } from './present.ts'
import { proveCompany } from './prove.ts'
import { checkSecondsMin } from './rules.ts'
import { claimCheck, findCompany, updateChecked } from './store.ts'

/** Checks a company now. What the check found is stored, also where it is refused. */
export const verify = async (deps: CompaniesDeps, agent: Agent, issuerId: string) => {
  const { ctx } = deps
  const { agentId } = agent
  const company = await inTransaction(ctx, agentId, async (tx) => {
    const claimed = await claimCheck(tx, agentId, issuerId)
    if (claimed) return claimed
    if (!(await findCompany(tx, agentId, issuerId))) throw unknownCompany()
    throw new Refusal('rate_limited', {
      message: `A company is checked every ${checkSecondsMin} seconds at most.`,
      headers: { 'retry-after': String(checkSecondsMin) },
    })
  })
  const fault = await proveCompany(deps, company)
  const checked = await inTransaction(ctx, agentId, async (tx) => {
    const row = await updateChecked(tx, company, fault)
    return row && presentCompany(deps, row, await readNow(tx))
  })
  logChange(ctx, agent, { action: 'verify', issuerId })
  if (!checked) throw unknownCompany()
  if (fault) throw faultRefusal(fault)
  return checked
}
