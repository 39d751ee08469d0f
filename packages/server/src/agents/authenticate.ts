import type { Agent } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { hashKey } from '../platform/ops/keys.ts'
import { isAgentKey, isKeyUsable } from './rules.ts'
import { findKeyByHash, updateKeyUsed } from './store.ts'

/** A revoked key works at most this long on other processes; on this one it stops at once. */
const cacheMs = 2_000
const cacheMax = 10_000

type CachedAgent = { readonly agent: Agent; readonly until: number }
type KeyLookup = { readonly agent: Agent; readonly validMs: number }

const findAgentByKey = async (ctx: Ctx, hash: Buffer): Promise<KeyLookup> =>
  inTransaction(ctx, 'system', async (tx) => {
    const row = await findKeyByHash(tx, hash)
    if (!row || !isKeyUsable(row, row.at)) throw new Refusal('invalid_api_key')
    if (row.suspended_at !== null)
      throw new Refusal('invalid_api_key', { message: 'This agent is suspended. Contact the operator.' })
    if (row.use_unseen) await updateKeyUsed(tx, row.agent_id, row.key_id)
    const agent: Agent = {
      agentId: row.agent_id as Agent['agentId'],
      mode: row.mode,
      keyId: row.key_id,
      scopes: row.scopes,
      ratePerMinute: row.rate_per_minute,
      policy: row.policy,
    }
    return { agent, validMs: row.expires_at ? row.expires_at.getTime() - row.at.getTime() : Infinity }
  })

/** Finds the agent of an API key. A key with a bad format or checksum needs no query. */
export const makeAuthenticator = (ctx: Ctx) => {
  const cache = new Map<string, CachedAgent>()
  let generation = 0
  return {
    authenticate: async (keyText: string): Promise<Agent> => {
      if (!isAgentKey(keyText)) throw new Refusal('malformed_api_key')
      const hash = hashKey(keyText)
      const cacheKey = hash.toString('base64')
      const nowMs = performance.now()
      const known = cache.get(cacheKey)
      if (known && known.until > nowMs) return known.agent
      cache.delete(cacheKey)
      const startGeneration = generation
      const { agent, validMs } = await findAgentByKey(ctx, hash)
      // A look-up that began before a change may have read the old state: its result is used once and not cached.
      if (startGeneration !== generation) return agent
      if (cache.size >= cacheMax) cache.clear()
      cache.set(cacheKey, { agent, until: nowMs + Math.min(cacheMs, validMs) })
      return agent
    },
    /** Called after any change to keys or agents in this process. */
    clearCache: () => {
      generation += 1
      cache.clear()
    },
  }
}
export type Authenticator = ReturnType<typeof makeAuthenticator>
