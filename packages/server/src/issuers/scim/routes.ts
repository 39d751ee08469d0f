import { route, type Route } from '../../platform/http/call.ts'
import { change } from './change.ts'
import { config } from './config.ts'
import { create } from './create.ts'
import { find } from './find.ts'
import { read } from './read.ts'
import { remove } from './remove.ts'
import { replace } from './replace.ts'
import type { ScimCall, ScimDeps } from './users.ts'

type DirectoryCall = {
  readonly params: { readonly issuer: string }
  header(name: string): string | undefined
}
const callOf = (call: DirectoryCall): ScimCall => ({
  issuer: call.params.issuer,
  authorization: call.header('authorization'),
})

export const routes = (deps: ScimDeps): Route[] => [
  route('issuers.scim.config', (call) => config(deps, callOf(call))),
  route('issuers.scim.find', (call) => find(deps, { ...callOf(call), filter: call.query.filter })),
  route('issuers.scim.create', (call) => create(deps, callOf(call), call.body)),
  route('issuers.scim.read', (call) => read(deps, { ...call.params, ...callOf(call) })),
  route('issuers.scim.replace', (call) => replace(deps, { ...call.params, ...callOf(call) }, call.body)),
  route('issuers.scim.change', (call) => change(deps, { ...call.params, ...callOf(call) }, call.body)),
  route('issuers.scim.remove', (call) => remove(deps, { ...call.params, ...callOf(call) })),
]
