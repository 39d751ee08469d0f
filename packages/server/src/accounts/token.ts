import type { Mode } from '@pohf/protocol'
import { inTransaction, readNow } from '../platform/db/db.ts'
import type { AccountPerson } from '../platform/http/call.ts'
import { Refusal } from '../platform/http/errors.ts'
import type { Ctx } from '../platform/ops/context.ts'
import type { Bearers } from './bearer.ts'
import { bearerMinutes } from './rules.ts'
import { findUsedAgent } from './store.ts'

/** Gives the page a bearer for the API. It ends with its session, and after ten minutes at the latest. */
export const token = async (ctx: Ctx, bearers: Bearers, person: AccountPerson, mode: Mode) =>
  inTransaction(ctx, 'system', async (tx) => {
    const { sessionId, accountId, role } = person
    const agentId = await findUsedAgent(tx, accountId, mode)
    if (agentId === undefined)
      throw new Refusal('not_found', { message: `This account has no agent in ${mode} mode.` })
    // Whole seconds, as in the bearer.
    const seconds = Math.floor((await readNow(tx)).getTime() / 1_000) + bearerMinutes * 60
    const expiresAt = new Date(seconds * 1_000)
    const text = bearers.sign({ sessionId, agentId, expiresAt })
    return { token: text, expiresAt: expiresAt.toISOString(), agentId, mode, role }
  })
