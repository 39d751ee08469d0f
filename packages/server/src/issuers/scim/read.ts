import { scimAnswer, withUser, type ScimCall, type ScimDeps } from './users.ts'

export const read = async (deps: ScimDeps, call: ScimCall & { readonly userId: string }) =>
  scimAnswer(await withUser(deps, call, async (_tx, _issuer, user) => ({ user })))
