import type { Agent, ConsoleRights } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction, type Tx } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { hashKey } from '../platform/ops/keys.ts'
import { allScopes, isAgentKey, isKeyUsable } from './rules.ts'
import { findCaller, findKeyByHash, updateKeyUsed } from './store.ts'

/** A revoked key works at most this long on other processes; on this one it stops at once. */
const cacheMs = 2_000
const cacheMax = 10_000

type CachedAgent = { readonly agent: Agent; readonly until: number }
type KeyLookup = { readonly agent: Agent; readonly validMs: number }

/** Injected by the wiring: the bearer tokens that the console gets for its page. */
type ConsoleBearers<Claims> = {
  /** The claims of a token that this service signed; undefined for others. */
  readonly read: (text: string) => Claims | undefined
  /** The agent and the rights of the person; undefined where the token has expired, or its session, person or agent is gone. */
  readonly find: (
    tx: Tx,
    claims: Claims,
  ) => Promise<(ConsoleRights & { readonly agentId: string; readonly validMs: number }) | undefined>
}

type CallerRow = NonNullable<Awaited<ReturnType<typeof findCaller>>>

/** The parts of an agent that do not depend on the key. */
const agentOf = (row: CallerRow) => {
  if (row.suspended_at !== null)
    throw new Refusal('invalid_api_key', { message: 'This agent is suspended. Contact the operator.' })
  return {
    agentId: row.agent_id as Agent['agentId'],
    mode: row.mode,
    ratePerMinute: row.rate_per_minute,
    policy: row.policy,
  }
}

const findAgentByKey = async (ctx: Ctx, hash: Buffer): Promise<KeyLookup> =>
  inTransaction(ctx, 'system', async (tx) => {
    const row = await findKeyByHash(tx, hash)
    if (!row || !isKeyUsable(row, row.at)) throw new Refusal('invalid_api_key')
    const agent: Agent = { ...agentOf(row), keyId: row.key_id, scopes: row.scopes }
    if (row.use_unseen) await updateKeyUsed(tx, row.agent_id, row.key_id)
    return { agent, validMs: row.expires_at ? row.expires_at.getTime() - row.at.getTime() : Infinity }
  })

const findAgentByBearer = async <Claims>(
  ctx: Ctx,
  bearers: ConsoleBearers<Claims>,
  claims: Claims,
): Promise<KeyLookup> =>
  inTransaction(ctx, 'system', async (tx) => {
    const found = await bearers.find(tx, claims)
    const row = found && (await findCaller(tx, found.agentId))
    if (!row)
      throw new Refusal('invalid_api_key', {
        message: 'This console token has expired or was revoked.',
      })
    // Not 401: a new bearer would not help, and the key is not unknown.
    if (row.suspended_at !== null)
      throw new Refusal('forbidden', { message: 'This agent is suspended. Contact the operator.' })
    const { agentId: _agentId, validMs, ...console } = found
    // The role decides what a person may do, not scopes: see authorizeCaller.
    const rights = { keyId: 'console', scopes: allScopes, console }
    return { agent: { ...agentOf(row), ...rights }, validMs }
  })

/** Checks an API key or a console token, and finds its agent. A text of neither form needs no query. */
export const makeAuthenticator = <Claims>(ctx: Ctx, bearers: ConsoleBearers<Claims>) => {
  const cache = new Map<string, CachedAgent>()
  let generation = 0
  let bearerGeneration = 0
  const find = async (keyText: string): Promise<KeyLookup> => {
    if (isAgentKey(keyText)) return findAgentByKey(ctx, hashKey(keyText))
    const claims = bearers.read(keyText)
    if (claims === undefined) throw new Refusal('malformed_api_key')
    return findAgentByBearer(ctx, bearers, claims)
  }
  return {
    authenticate: async (keyText: string): Promise<Agent> => {
      const cacheKey = hashKey(keyText).toString('base64')
      const nowMs = performance.now()
      const known = cache.get(cacheKey)
      if (known && known.until > nowMs) return known.agent
      cache.delete(cacheKey)
      const [startGeneration, startBearerGeneration] = [generation, bearerGeneration]
      const { agent, validMs } = await find(keyText)
      // A look-up that began before a change may have read the old state: its result is used once and not cached.
      if (startGeneration !== generation) return agent
      if (agent.console && startBearerGeneration !== bearerGeneration) return agent
      if (cache.size >= cacheMax) cache.clear()
      cache.set(cacheKey, { agent, until: nowMs + Math.min(cacheMs, validMs) })
      return agent
    },
    /** Called after any change to keys or agents in this process. */
    clearCache: () => {
      generation += 1
      cache.clear()
    },
    /** Called after a change to people or sessions of an account in this process. Keys stay. */
    forgetBearers: () => {
      bearerGeneration += 1
      for (const [cacheKey, { agent }] of cache) if (agent.console) cache.delete(cacheKey)
    },
  }
}
export type Authenticator = ReturnType<typeof makeAuthenticator>
