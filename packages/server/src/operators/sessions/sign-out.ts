import { inTransaction } from '../../platform/db/db.ts'
import { ApiResponse } from '../../platform/http/call.ts'
import { requireOwnPage, type PageRequest } from '../../platform/sign-in/own-page.ts'
import type { OperatorsDeps } from '../deps.ts'
import { expiredSessionCookie } from '../rules.ts'
import { insertAudit } from '../store.ts'
import { deletePresentedSession } from './open.ts'

export const signOut = async ({ ctx, site }: OperatorsDeps, page: PageRequest) => {
  requireOwnPage(site, page)
  await inTransaction(ctx, 'system', async (tx) => {
    const ended = await deletePresentedSession(tx, page)
    if (ended)
      await insertAudit(tx, {
        operatorId: ended.operator_id,
        action: 'operator.sign_out',
        target: ended.session_id,
        details: {},
      })
  })
  return new ApiResponse({ signedIn: false as const }, { headers: { 'set-cookie': expiredSessionCookie } })
}
