import { Answer } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { hashKey } from '../../platform/ops/keys.ts'
import { requireOwnPage, type FromPage } from './login.ts'
import { noCookie, readCookie } from '../rules.ts'
import { deleteLogin } from '../store.ts'

export const signOut = async (ctx: Ctx, page: FromPage) => {
  requireOwnPage(ctx, page)
  const token = readCookie(page.cookie)
  if (token !== undefined) await inTransaction(ctx, 'system', (tx) => deleteLogin(tx, hashKey(token)))
  return new Answer({ signedIn: false as const }, { headers: { 'set-cookie': noCookie } })
}
