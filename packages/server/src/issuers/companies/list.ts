import { inTransaction, readNow } from '../../platform/db/db.ts'
import type { Agent } from '../../platform/http/call.ts'
import type { CompaniesDeps } from './deps.ts'
import { presentCompany } from './present.ts'
import { listCompanies } from './store.ts'

export const list = (deps: CompaniesDeps, { agentId }: Agent) =>
  inTransaction(deps.ctx, agentId, async (tx) => {
    const at = await readNow(tx)
    return { companies: (await listCompanies(tx, agentId)).map((row) => presentCompany(deps, row, at)) }
  })
