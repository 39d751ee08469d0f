import type { Tx } from '../../platform/db/db.ts'
import { hashKey } from '../../platform/ops/keys.ts'
import { makeToken, tokenHashOf } from '../../platform/ops/tokens.ts'
import { browserNameOf, type PageRequest } from '../../platform/sign-in/own-page.ts'
import { readSessionCookie, sessionCookie } from '../rules.ts'
import { insertAudit } from '../store.ts'
import { deleteSessionByToken, insertSession } from './store.ts'

/** Deletes the session whose cookie the request brought, if there is one. */
export const deletePresentedSession = async (tx: Tx, { cookie }: Pick<PageRequest, 'cookie'>) => {
  const hash = tokenHashOf(tx.ids, 'ops_', readSessionCookie(cookie) ?? '')
  return hash && (await deleteSessionByToken(tx, hash))
}

/**
 * Signs an operator in; returns the cookie header. The session always has a new id and a new cookie, whatever cookie was sent,
 * and the session of that cookie ends: nobody can prepare a session for somebody else.
 */
export const openSession = async (
  tx: Tx,
  page: PageRequest,
  { operatorId, passkeyId }: { readonly operatorId: string; readonly passkeyId: string },
): Promise<Record<string, string>> => {
  const token = makeToken(tx.ids, 'ops_')
  const sessionId = tx.ids.make('osn_')
  const browser = browserNameOf(page.userAgent)
  const ended = await deletePresentedSession(tx, page)
  await insertSession(tx, { sessionId, tokenHash: hashKey(token), operatorId, passkeyId, browser })
  // After all rows are locked: the log is written by one transaction at a time.
  if (ended)
    await insertAudit(tx, {
      operatorId: ended.operator_id,
      action: 'operator.session_end',
      target: ended.session_id,
      details: { replacedBy: sessionId },
    })
  await insertAudit(tx, {
    operatorId,
    action: 'operator.sign_in',
    target: sessionId,
    details: { passkeyId, browser },
  })
  return { 'set-cookie': sessionCookie(token) }
}
