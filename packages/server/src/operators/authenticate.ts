import { inTransaction } from '../platform/db/db.ts'
import type { ConsoleRequest, Operator } from '../platform/http/call.ts'
import { Refusal } from '../platform/http/errors.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { hashKey } from '../platform/ops/keys.ts'
import { tokenHashOf } from '../platform/ops/tokens.ts'
import { requireOwnPage } from '../platform/sign-in/own-page.ts'
import { isOperatorKey, readSessionCookie, siteOf, type BearerClaims } from './rules.ts'
import type { Bearers } from './sessions/bearer.ts'
import { findSession, findSessionByToken } from './sessions/store.ts'
import { findOperatorByKey } from './store.ts'

type OpenSession = NonNullable<Awaited<ReturnType<typeof findSession>>>
const operatorOf = (row: Pick<OpenSession, 'operator_id' | 'name' | 'made_by'>) => ({
  operatorId: row.operator_id,
  name: row.name,
  madeBy: row.made_by ?? undefined,
})
const signedInOperatorOf = (row: OpenSession): Operator => ({
  ...operatorOf(row),
  session: { sessionId: row.session_id, isRecent: row.is_recent },
})

/** Session and operator are read at every use, so that either can be taken away at once. */
const findByBearer = async (ctx: Ctx, { sessionId, expiresAt }: BearerClaims): Promise<Operator> => {
  const row = await inTransaction(ctx, 'system', (tx) => findSession(tx, sessionId))
  if (!row || row.at >= expiresAt)
    throw new Refusal('invalid_api_key', {
      message: 'This token has expired, or its session was ended.',
    })
  return signedInOperatorOf(row)
}

/** Finds the operator of a key, or of a bearer that the operators' pages got. */
export const authenticate = async (ctx: Ctx, bearers: Bearers, keyText: string): Promise<Operator> => {
  if (isOperatorKey(keyText)) {
    const row = await inTransaction(ctx, 'system', (tx) => findOperatorByKey(tx, hashKey(keyText)))
    if (!row) throw new Refusal('invalid_api_key')
    return operatorOf(row)
  }
  const claims = bearers.read(keyText)
  if (!claims) throw new Refusal('malformed_api_key')
  return findByBearer(ctx, claims)
}

/** Finds the operator of the cookie, for the row that gives the page a bearer. */
export const authenticateSession = async (ctx: Ctx, request: ConsoleRequest): Promise<Operator> => {
  requireOwnPage(siteOf(ctx.config), request)
  const hash = tokenHashOf(ctx.ids, 'ops_', readSessionCookie(request.cookie) ?? '')
  const row = hash && (await inTransaction(ctx, 'system', (tx) => findSessionByToken(tx, hash)))
  if (!row) throw new Refusal('sign_in_required')
  return signedInOperatorOf(row)
}
