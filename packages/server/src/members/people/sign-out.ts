import { ApiResponse } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { hashKey } from '../../platform/ops/keys.ts'
import { requireOwnPage, type PageRequest } from './login.ts'
import { expiredLoginCookie, readCookie } from '../rules.ts'
import { deleteLogin } from './store.ts'

export const signOut = async (ctx: Ctx, page: PageRequest) => {
  requireOwnPage(ctx, page)
  const token = readCookie(page.cookie)
  if (token !== undefined) await inTransaction(ctx, 'system', (tx) => deleteLogin(tx, hashKey(token)))
  return new ApiResponse({ signedIn: false as const }, { headers: { 'set-cookie': expiredLoginCookie } })
}
