import { ApiResponse } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { tokenHashOf } from '../../platform/ops/tokens.ts'
import { requireOwnPage, type PageRequest } from './login.ts'
import { expiredLoginCookie, readCookie } from '../rules.ts'
import { deleteLogin } from './store.ts'

export const signOut = async (ctx: Ctx, page: PageRequest) => {
  requireOwnPage(ctx, page)
  const token = readCookie(page.cookie)
  const hash = token === undefined ? undefined : tokenHashOf(ctx.ids, 'lgn_', token)
  if (hash) await inTransaction(ctx, 'system', (tx) => deleteLogin(tx, hash))
  return new ApiResponse({ signedIn: false as const }, { headers: { 'set-cookie': expiredLoginCookie } })
}
