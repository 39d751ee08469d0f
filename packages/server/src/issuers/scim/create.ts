import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { findUserByCode, insertUser, updateUserName } from '../store.ts'
import {
  hashesOf,
  parseUser,
  presentUser,
  requireDirectory,
  scimAnswer,
  setState,
  type ScimCall,
  type ScimDeps,
} from './users.ts'

/** Adds a person, or brings one back who was deleted. */
export const create = async (deps: ScimDeps, call: ScimCall, body: unknown) => {
  const created = await inTransaction(deps.ctx, 'system', async (tx) => {
    const issuer = await requireDirectory(tx, deps, call)
    const user = parseUser(body)
    const { codeHash, nameHash } = hashesOf(deps, issuer, user)
    const known = await findUserByCode(tx, issuer.name, codeHash)
    if (known && known.state !== 'deleted')
      throw new Refusal('scim_conflict', { message: 'This person is known already.' })
    if (known) await updateUserName(tx, issuer.name, known.user_id, nameHash)
    const row = known ?? (await insertUser(tx, { issuer: issuer.name, codeHash, nameHash }))
    return presentUser(
      deps,
      issuer,
      await setState(tx, deps, issuer, row, user.active ? 'active' : 'inactive'),
      user,
    )
  })
  return scimAnswer(created, 201)
}
