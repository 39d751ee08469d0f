import { scimAnswer, setState, withUser, type ScimCall, type ScimDeps } from './users.ts'

/** Deletes a person. The keyed hash stays, so that a sign-in that still works is refused. */
export const remove = async (deps: ScimDeps, call: ScimCall & { readonly userId: string }) => {
  await withUser(deps, call, async (tx, issuer, user) => ({
    user: await setState(tx, deps, issuer, user, 'deleted'),
  }))
  return scimAnswer({}, 204)
}
