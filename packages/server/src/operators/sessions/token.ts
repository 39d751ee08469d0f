import { inTransaction } from '../../platform/db/db.ts'
import type { Operator } from '../../platform/http/call.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { bearerMinutes } from '../rules.ts'
import type { Bearers } from './bearer.ts'
import { findSession, updateSessionSeen } from './store.ts'

/**
 * Gives the page a bearer. It ends with its session, and after ten minutes at the latest. An open page gets bearers even
 * while nobody uses it. `isActive` says whether somebody does: otherwise no session would ever become idle.
 */
export const token = async (ctx: Ctx, bearers: Bearers, { session }: Operator, isActive: boolean) =>
  inTransaction(ctx, 'system', async (tx) => {
    const found = session && (await findSession(tx, session.sessionId))
    if (!found) throw new Refusal('sign_in_required')
    if (isActive) await updateSessionSeen(tx, found.session_id)
    // Whole seconds, as in the bearer.
    const seconds = Math.floor(found.at.getTime() / 1_000) + bearerMinutes * 60
    const expiresAt = new Date(seconds * 1_000)
    return {
      token: bearers.sign({ sessionId: found.session_id, expiresAt }),
      expiresAt: expiresAt.toISOString(),
      operatorId: found.operator_id,
      name: found.name,
      recentUntil: found.recent_until.toISOString(),
    }
  })
