import { Refusal } from '../../platform/http/errors.ts'
import { updateUserName } from '../store.ts'
import { hashesOf, parseUser, scimAnswer, setState, withUser, type ScimCall, type ScimDeps } from './users.ts'

/** Replaces a person: the name may change, the number of the account may not. */
export const replace = async (
  deps: ScimDeps,
  call: ScimCall & { readonly userId: string },
  body: unknown,
) => {
  const replaced = await withUser(deps, call, async (tx, known, row) => {
    const sent = parseUser(body)
    const { codeHash, nameHash } = hashesOf(deps, known, sent)
    if (!codeHash.equals(row.code_hash))
      throw new Refusal('scim_conflict', { message: 'The number of the account is that of another person.' })
    await updateUserName(tx, known.name, row.user_id, nameHash)
    return { user: await setState(tx, deps, known, row, sent.active ? 'active' : 'inactive'), sent }
  })
  return scimAnswer(replaced)
}
