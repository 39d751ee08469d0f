import { route, type Route } from '../platform/http/call.ts'
import type { CompaniesDeps } from './companies/deps.ts'
import * as companyCreate from './companies/create.ts'
import * as companyList from './companies/list.ts'
import * as companyRemove from './companies/remove.ts'
import { update } from './companies/update.ts'
import { verify } from './companies/verify.ts'
import { list } from './list.ts'
import { change } from './scim/change.ts'
import { config } from './scim/config.ts'
import { create } from './scim/create.ts'
import { find } from './scim/find.ts'
import { read } from './scim/read.ts'
import { remove } from './scim/remove.ts'
import { replace } from './scim/replace.ts'
import type { ScimCall, ScimDeps } from './scim/users.ts'

type DirectoryCall = {
  readonly params: { readonly issuer: string }
  header(name: string): string | undefined
}
const callOf = (call: DirectoryCall): ScimCall => ({
  issuer: call.params.issuer,
  authorization: call.header('authorization'),
})

export const routes = (deps: CompaniesDeps & ScimDeps): Route[] => [
  route('issuers.list', (call) => list(deps, call.agent)),
  route('issuers.companies.list', (call) => companyList.list(deps, call.agent)),
  route('issuers.companies.create', (call) => companyCreate.create(deps, call.agent, call.body)),
  route('issuers.companies.verify', (call) => verify(deps, call.agent, call.params.issuerId)),
  route('issuers.companies.update', (call) => update(deps, call.agent, { ...call.params, ...call.body })),
  route('issuers.companies.remove', (call) => companyRemove.remove(deps, call.agent, call.params.issuerId)),
  route('issuers.scim.config', (call) => config(deps, callOf(call))),
  route('issuers.scim.find', (call) => find(deps, { ...callOf(call), filter: call.query.filter })),
  route('issuers.scim.create', (call) => create(deps, callOf(call), call.body)),
  route('issuers.scim.read', (call) => read(deps, { ...call.params, ...callOf(call) })),
  route('issuers.scim.replace', (call) => replace(deps, { ...call.params, ...callOf(call) }, call.body)),
  route('issuers.scim.change', (call) => change(deps, { ...call.params, ...callOf(call) }, call.body)),
  route('issuers.scim.remove', (call) => remove(deps, { ...call.params, ...callOf(call) })),
]
