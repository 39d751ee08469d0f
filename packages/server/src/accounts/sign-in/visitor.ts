import { inTransaction, type Tx } from '../../platform/db/db.ts'
import type { AccountPerson, ConsoleRequest } from '../../platform/http/call.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { hashKey } from '../../platform/ops/keys.ts'
import { makeToken, tokenHashOf } from '../../platform/ops/tokens.ts'
import {
  browserNameOf,
  requireOwnPage,
  type PageRequest,
  type Site,
} from '../../platform/sign-in/own-page.ts'
import { readSessionCookie, sessionCookie } from '../rules.ts'
import {
  deleteSessionByToken,
  findSession,
  insertSession,
  updateSessionSeen,
  type SignInWay,
} from './store.ts'

const sessionHashOf = (tx: Pick<Tx, 'ids'>, { cookie }: ConsoleRequest): Buffer | undefined => {
  const token = readSessionCookie(cookie)
  return token === undefined ? undefined : tokenHashOf(tx.ids, 'cso_', token)
}

/** Authenticates the caller of a row of the console. */
export const authenticate = async (ctx: Ctx, site: Site, request: ConsoleRequest): Promise<AccountPerson> => {
  requireOwnPage(site, request)
  return inTransaction(ctx, 'system', async (tx) => {
    const hash = sessionHashOf(tx, request)
    const session = hash && (await findSession(tx, hash))
    if (!session) throw new Refusal('sign_in_required')
    if (session.use_unseen) await updateSessionSeen(tx, session)
    return {
      sessionId: session.session_id,
      personId: session.person_id,
      accountId: session.account_id,
      email: session.email,
      role: session.role,
      isRecent: session.is_recent,
      signedInBy: session.signed_in_by,
    }
  })
}

/** Ends the session whose cookie the request brought, if there is one. */
export const endPresentedSession = async (tx: Tx, request: ConsoleRequest): Promise<boolean> => {
  const hash = sessionHashOf(tx, request)
  return hash !== undefined && (await deleteSessionByToken(tx, hash))
}

type SignIn = { readonly personId: string; readonly accountId: string; readonly by: SignInWay }

/**
 * Signs a person in; returns the cookie header. The session always has a new id and a new cookie, whatever cookie was sent, and
 * the session of that cookie ends: nobody can prepare a session for somebody else.
 */
export const signPersonIn = async (
  tx: Tx,
  request: PageRequest,
  signIn: SignIn,
): Promise<Record<string, string>> => {
  await endPresentedSession(tx, request)
  const token = makeToken(tx.ids, 'cso_')
  await insertSession(tx, {
    ...signIn,
    sessionId: tx.ids.make('csn_'),
    tokenHash: hashKey(token),
    browser: browserNameOf(request.userAgent),
  })
  return { 'set-cookie': sessionCookie(token) }
}
