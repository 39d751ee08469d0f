import { Answer } from '../platform/call.ts'
import { inTransaction } from '../platform/db.ts'
import type { MembersDeps } from './enrol.ts'
import { erasePerson } from './erase-person.ts'
import { requireOwnPage, requireSignedIn, type FromPage } from './login.ts'
import { noCookie } from './rules.ts'

/** The person deletes everything. */
export const erase = async (deps: MembersDeps, page: FromPage) => {
  const { ctx } = deps
  requireOwnPage(ctx, page)
  const memberships = await inTransaction(ctx, 'system', async (tx) =>
    erasePerson(tx, deps, await requireSignedIn(tx, page)),
  )
  return new Answer({ erased: true as const, memberships }, { headers: { 'set-cookie': noCookie } })
}
