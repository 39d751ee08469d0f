import { inTransaction, readNow } from '../../platform/db/db.ts'
import type { Agent } from '../../platform/http/call.ts'
import { administratorOf, logChange } from './administrator.ts'
import type { CompaniesDeps } from './deps.ts'
import { presentCompany, unknownCompany } from './present.ts'
import { findCompany, lockCompanies, updateCompany } from './store.ts'

type Input = {
  readonly issuerId: string
  readonly name?: string | undefined
  readonly clientId?: string | undefined
  /** Null deletes it. */
  readonly clientSecret?: string | null | undefined
  readonly admit?:
    { readonly acr: readonly string[]; readonly amr: readonly (readonly string[])[] } | undefined
}

/** Changes a company. Its issuer and its domain stay: another issuer is another company. */
export const update = async (deps: CompaniesDeps, agent: Agent, input: Input) => {
  const { ctx } = deps
  const { clientSecret } = input
  const changed = await inTransaction(ctx, agent.agentId, async (tx) => {
    await lockCompanies(tx, agent.agentId)
    const known = await findCompany(tx, agent.agentId, input.issuerId)
    if (!known) throw unknownCompany()
    const sealed =
      typeof clientSecret === 'string' ? ctx.secrets.seal('company-secret', clientSecret) : clientSecret
    const row = await updateCompany(tx, known, {
      name: input.name ?? known.name,
      client_id: input.clientId ?? known.client_id,
      client_secret_sealed: sealed === undefined ? known.client_secret_sealed : sealed,
      acr: input.admit?.acr ?? known.acr,
      amr: input.admit?.amr ?? known.amr,
      changed_by: administratorOf(agent),
    })
    return presentCompany(deps, row, await readNow(tx))
  })
  logChange(ctx, agent, { action: 'update', issuerId: input.issuerId })
  return changed
}
