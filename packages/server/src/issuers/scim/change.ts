import { Refusal } from '../../platform/http/errors.ts'
import { activeOf } from './rules.ts'
import { scimAnswer, setState, withUser, type ScimCall, type ScimDeps } from './users.ts'

/** What the operations say of `active`; undefined where they say nothing of it. */
const requireActive = (body: unknown): boolean | undefined => {
  const active = activeOf(body)
  if (active !== null) return active
  throw new Refusal('validation_failed', {
    details: [
      { path: 'body.Operations', code: 'scim', message: 'must be operations of SCIM; active is a boolean' },
    ],
  })
}

/** Changes whether a person is active. Other fields are not kept, so a change of them changes nothing here. */
export const change = async (deps: ScimDeps, call: ScimCall & { readonly userId: string }, body: unknown) =>
  scimAnswer(
    await withUser(deps, call, async (tx, issuer, user) => {
      const active = requireActive(body)
      return {
        user:
          active === undefined
            ? user
            : await setState(tx, deps, issuer, user, active ? 'active' : 'inactive'),
      }
    }),
  )
