import { companiesMax } from '@pohf/protocol'
import { inTransaction, readNow } from '../../platform/db/db.ts'
import type { Agent } from '../../platform/http/call.ts'
import { administratorOf, logChange } from './administrator.ts'
import type { CompaniesDeps } from './deps.ts'
import { companyRefused, presentCompany } from './present.ts'
import { addressFault } from './rules.ts'
import { insertCompany, listCompanies, lockCompanies } from './store.ts'

type Input = {
  readonly name: string
  readonly issuer: string
  readonly domain: string
  readonly clientId: string
  readonly clientSecret?: string | undefined
  readonly admit?:
    { readonly acr: readonly string[]; readonly amr: readonly (readonly string[])[] } | undefined
}

/** Sets up the sign-in of a company. Nobody can use it before its domain is proved. */
export const create = async (deps: CompaniesDeps, agent: Agent, input: Input) => {
  const { ctx } = deps
  const fault = addressFault(input.issuer, input.domain)
  if (fault) throw companyRefused('body.issuer', fault.code, fault.message)
  const created = await inTransaction(ctx, agent.agentId, async (tx) => {
    await lockCompanies(tx, agent.agentId)
    const known = await listCompanies(tx, agent.agentId)
    if (known.some(({ issuer }) => issuer === input.issuer))
      throw companyRefused('body.issuer', 'duplicate', 'this agent has a sign-in with this issuer')
    if (known.length >= companiesMax)
      throw companyRefused('body', 'too_many', `an agent has at most ${companiesMax} sign-ins of companies`)
    const row = await insertCompany(tx, {
      agent_id: agent.agentId,
      issuer_id: tx.ids.make('iss_'),
      name: input.name,
      issuer: input.issuer,
      domain: input.domain,
      client_id: input.clientId,
      client_secret_sealed:
        input.clientSecret === undefined ? null : ctx.secrets.seal('company-secret', input.clientSecret),
      acr: input.admit?.acr ?? [],
      amr: input.admit?.amr ?? [],
      token: ctx.ids.random(),
      changed_by: administratorOf(agent),
    })
    return presentCompany(deps, row, await readNow(tx))
  })
  logChange(ctx, agent, { action: 'create', issuerId: created.issuerId })
  return created
}
