import { ApiResponse, type Person } from '../../platform/http/call.ts'
import { inTransaction } from '../../platform/db/db.ts'
import type { MembersDeps } from '../membership/enrol.ts'
import { erasePerson } from './erase-person.ts'
import { expiredLoginCookie } from '../rules.ts'

/** The person deletes everything. */
export const erase = async (deps: MembersDeps, { personId }: Person) => {
  const { ctx } = deps
  const memberships = await inTransaction(ctx, 'system', (tx) => erasePerson(tx, deps, personId))
  return new ApiResponse(
    { erased: true as const, memberships },
    { headers: { 'set-cookie': expiredLoginCookie } },
  )
}
