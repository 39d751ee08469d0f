import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { humanHashOf } from '../rules.ts'
import { findUserByCode, findUserByName } from '../store.ts'
import { listSchema, readFilter, type ScimFilter } from './rules.ts'
import {
  nameHashOf,
  presentUser,
  requireDirectory,
  scimAnswer,
  type ScimCall,
  type ScimDeps,
} from './users.ts'

const requireFilter = (text: string): ScimFilter => {
  const filter = readFilter(text)
  if (filter) return filter
  throw new Refusal('validation_failed', {
    details: [
      { path: 'query.filter', code: 'scim', message: 'must be userName eq "…" or externalId eq "…"' },
    ],
  })
}

/** One person by a name. Without a filter nobody is listed: we keep no names that a list could show. */
export const find = async (deps: ScimDeps, call: ScimCall & { readonly filter?: string | undefined }) => {
  const found = await inTransaction(deps.ctx, 'system', async (tx) => {
    const issuer = await requireDirectory(tx, deps, call)
    if (call.filter === undefined) return undefined
    const filter = requireFilter(call.filter)
    const key = deps.ctx.secrets.derive('external-codes')
    const { by, value } = filter
    const sent = { [by]: value }
    const code =
      by === 'externalId' ? issuer.directory.codeOf({ userName: '', externalId: value }) : undefined
    const user =
      by === 'userName'
        ? await findUserByName(tx, issuer.name, nameHashOf(key, value))
        : code === undefined
          ? undefined
          : await findUserByCode(tx, issuer.name, humanHashOf(key, code))
    return user && user.state !== 'deleted' ? presentUser(deps, issuer, user, sent) : undefined
  })
  const Resources = found ? [found] : []
  return scimAnswer({
    schemas: [listSchema],
    totalResults: Resources.length,
    startIndex: 1,
    itemsPerPage: Resources.length,
    Resources,
  })
}
