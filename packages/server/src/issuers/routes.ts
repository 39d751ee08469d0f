import { route, type Route } from '../platform/http/call.ts'
import type { CheckDeps } from './check.ts'
import { create } from './companies/create.ts'
import type { CompaniesDeps } from './companies/deps.ts'
import { list as listCompanies } from './companies/list.ts'
import { remove } from './companies/remove.ts'
import { update } from './companies/update.ts'
import { verify } from './companies/verify.ts'
import { list } from './list.ts'
import { routes as scimRoutes } from './scim/routes.ts'
import type { ScimDeps } from './scim/users.ts'

export const routes = (deps: CheckDeps & CompaniesDeps & ScimDeps): Route[] => [
  route('issuers.list', (call) => list(deps, call.agent)),
  route('issuers.companies.list', (call) => listCompanies(deps, call.agent)),
  route('issuers.companies.create', (call) => create(deps, call.agent, call.body)),
  route('issuers.companies.verify', (call) => verify(deps, call.agent, call.params.issuerId)),
  route('issuers.companies.update', (call) => update(deps, call.agent, { ...call.params, ...call.body })),
  route('issuers.companies.remove', (call) => remove(deps, call.agent, call.params.issuerId)),
  ...scimRoutes(deps),
]
