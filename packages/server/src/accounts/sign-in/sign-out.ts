import { inTransaction } from '../../platform/db/db.ts'
import { ApiResponse } from '../../platform/http/call.ts'
import { requireOwnPage, type PageRequest } from '../../platform/sign-in/own-page.ts'
import type { AccountsDeps } from '../deps.ts'
import { expiredSessionCookie } from '../rules.ts'
import { endPresentedSession } from './visitor.ts'

/** Anybody can call it: bearers are forgotten only where a session ended. */
export const signOut = async ({ ctx, site, forgetBearers }: AccountsDeps, page: PageRequest) => {
  requireOwnPage(site, page)
  const hasEnded = await inTransaction(ctx, 'system', (tx) => endPresentedSession(tx, page))
  if (hasEnded) forgetBearers()
  return new ApiResponse({ signedIn: false as const }, { headers: { 'set-cookie': expiredSessionCookie } })
}
