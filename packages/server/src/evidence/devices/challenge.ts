import type { Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction, readNow } from '../../platform/db/db.ts'
import { nonceMinutes } from '../rules.ts'
import { insertNonce } from '../store.ts'

export const attestChallenge = async (ctx: Ctx, agent: Agent) =>
  inTransaction(ctx, agent.agentId, async (tx) => {
    const nonce = ctx.ids.token()
    const expiresAt = new Date((await readNow(tx)).getTime() + nonceMinutes * 60_000)
    await insertNonce(tx, { agentId: agent.agentId, purpose: 'attest', nonce, expiresAt })
    // 32 random bytes in base64url: the same text is nonce and challenge.
    return { nonce, challengeB64url: nonce, expiresAt: expiresAt.toISOString() }
  })
