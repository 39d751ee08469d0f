import { mandateCharsMax, type Mode } from '@pohf/protocol'
import { inTransaction, readNow, type Tx } from '../platform/db/db.ts'
import type { Agent, KeylessCredential, KeylessRequest } from '../platform/http/call.ts'
import { Refusal, type OrderChallenge } from '../platform/http/errors.ts'
import {
  makeRateLimiter,
  type ClientLimit,
  type RateLimit,
  type RateLimiter,
  type RateLimitResult,
} from '../platform/http/rate-limiter.ts'
import type { Ctx } from '../platform/ops/context.ts'
import type { Signer } from '../signing/index.ts'
import { verifyMandates, type Mandates, type VerifiedMandates } from './mandates/verify.ts'
import { isObject } from './mandates/sd-jwt.ts'
import { makeOwnTokens, type OwnTokens } from './own-tokens.ts'
import {
  agentsPerRootMax,
  mandateSkewSeconds,
  mandateFault,
  nonceHash,
  sha256,
  signatureFault,
  type Root,
} from './rules.ts'
import { hasKnownTag } from './signatures/fields.ts'
import { makeKeySets, type KeySets } from './signatures/key-sets.ts'
import { verifySignedRequest, type VerifiedRequest } from './signatures/verify.ts'
import {
  countUse,
  findAgentId,
  findRootForUpdate,
  insertTrustedAgent,
  insertUse,
  isAgentTrusted,
  listRoots,
  updateRootAgents,
} from './store.ts'

/** What the wiring provides from modules that trust does not import. */
export type KeylessDeps = {
  readonly ctx: Ctx
  readonly signer: Pick<Signer, 'publicKeys' | 'signTyped'>
  readonly addAgent: (tx: Tx, agent: { readonly mode: Mode; readonly name: string }) => Promise<string>
  readonly findCaller: (tx: Tx, agentId: string, keyId: string) => Promise<Agent>
  /** What the body orders and its price in whole cents; undefined where it orders nothing. */
  readonly quote: (
    body: unknown,
  ) => Promise<
    { readonly taskType: string; readonly quantity: number; readonly totalUsdCents: bigint } | undefined
  >
}

/** Requests without a key, and signed quotes, of one client. */
const clientLimits = {
  keyless: { name: 'keyless_order', perNetwork: 60, windowSeconds: 60 },
  quote: { name: 'quote', perNetwork: 20, windowSeconds: 60 },
} as const satisfies Record<string, ClientLimit>
/** Verified requests by trust root, and signed quotes in all. */
const limits = {
  root: { name: 'trust_root', quota: 600, windowSeconds: 60 },
  // Each is a line in the journal of a signer, which is kept.
  quotes: { name: 'quotes', quota: 300, windowSeconds: 60 },
} as const satisfies Record<string, RateLimit>

/**
 * How long this process caches the roots, for requests that are refused before the body is read. A root that another process
 * adds or removes takes effect here after this time.
 */
const rootsCacheMs = 2_000
/** A nonce is remembered for longer than its signature could pass, also in a request that waits. */
const nonceKeptSeconds = 120

type State = { readonly roots: readonly Root[]; readonly now: number }
type Parts = KeylessDeps & {
  readonly keySets: KeySets
  readonly tokens: OwnTokens
  readonly limiter: RateLimiter
}

/** Roots and time of the database: a process with a wrong clock must not accept what is over. */
const readState = (ctx: Ctx): Promise<State> =>
  inTransaction(ctx, 'system', async (tx) => ({
    roots: await listRoots(tx),
    now: Math.floor((await readNow(tx)).getTime() / 1_000),
  }))

const enforce = (result: RateLimitResult): void => {
  if (!result.allowed) throw new Refusal('rate_limited', { headers: result.headers })
}

const hasSignatureRoot = (roots: readonly Root[]) => roots.some(({ kind }) => kind !== 'issuer')
const hasIssuer = (roots: readonly Root[]) => roots.some(({ kind }) => kind === 'issuer')

const acceptedSignature =
  'sig1=("@method" "@authority" "@path" "content-digest" "signature-agent";key="sig1");created;expires;keyid;nonce;tag="agent-payer-auth"'

/** The 401 of an order: what this deployment takes in place of a key. */
const authRequired = (roots: readonly Root[], challenge?: OrderChallenge): Refusal =>
  new Refusal('auth_required', {
    order: {
      accepts: [
        'bearer',
        ...(hasSignatureRoot(roots) ? ['http-message-signature'] : []),
        ...(hasIssuer(roots) ? ['verifiable-intent'] : []),
      ],
      ...(challenge ? { challenge } : {}),
    },
    headers: hasSignatureRoot(roots) ? { 'accept-signature': acceptedSignature } : {},
  })

/** A signed quote for what the body orders. Each costs a signature, so there are limits: without a quote it is a plain 401. */
const makeChallenge = async (
  { ctx, tokens, quote, limiter }: Parts,
  { body, address }: Pick<KeylessRequest, 'body' | 'address'>,
  { roots, now }: State,
): Promise<OrderChallenge | undefined> => {
  if (!hasIssuer(roots)) return undefined
  const quoted = await quote(body)
  if (!quoted) return undefined
  if (ctx.config.addressLimits && !limiter.takeFor(clientLimits.quote, address).allowed) return undefined
  if (!limiter.take(limits.quotes, 'all').allowed) return undefined
  const { jti, expiresAt, token } = await tokens.signQuote(
    { ...quoted, totalUsdCents: Number(quoted.totalUsdCents) },
    now,
  )
  return { aud: ctx.config.BASE_URL, nonce: jti, expiresAt, checkout_jwt: token }
}

/** The agent of a key of a trust root; made when the key is first used. */
const findAgent = (
  { ctx, addAgent, findCaller }: Parts,
  { root, externalId, keyId }: { readonly root: Root; readonly externalId: string; readonly keyId: string },
): Promise<Agent> =>
  inTransaction(ctx, 'system', async (tx) => {
    const { mode } = root
    const known = await findAgentId(tx, mode, externalId)
    if (known !== undefined) return findCaller(tx, known, keyId)
    // Locked, so that two first uses at once make one agent.
    const agents = await findRootForUpdate(tx, root)
    if (agents === undefined) throw new Refusal('untrusted_agent')
    const made = await findAgentId(tx, mode, externalId)
    if (made !== undefined) return findCaller(tx, made, keyId)
    if (agents >= agentsPerRootMax)
      throw new Refusal('rate_limited', {
        message: `This trust root has ${agentsPerRootMax} agents, the most.`,
      })
    const agentId = await addAgent(tx, { mode, name: externalId.slice(0, 120) })
    await insertTrustedAgent(tx, { mode, externalId, agentId, root })
    await updateRootAgents(tx, root, agents + 1)
    return findCaller(tx, agentId, keyId)
  })

const withCredential = (
  { tokens }: Parts,
  agent: Agent,
  now: number,
  credential: Omit<KeylessCredential, 'signOrderToken'>,
): Agent => ({
  ...agent,
  keyless: { ...credential, signOrderToken: (orderId) => tokens.signOrderToken(agent, orderId, now) },
})

/** By the thumbprint: a network lists the keys of many agents, and each of them chooses its `kid`. */
const externalIdOf = ({ root, key }: VerifiedRequest): string =>
  `${root.kind === 'directory' ? 'wba' : 'tap'}:${root.name}#${key.thumbprint}`

const admitSignature = async (
  parts: Parts,
  request: KeylessRequest,
  { roots, now }: State,
): Promise<Agent> => {
  const { ctx, keySets, limiter } = parts
  const { method, url, headers, bodyText } = request
  // Joined as text: a request line may have a whole address in place of a path, and its host would be the caller's choice.
  const targetUri = `${new URL(ctx.config.BASE_URL).origin}${url.startsWith('/') ? url : `/${url}`}`
  const verified = await verifySignedRequest(keySets, roots, { method, targetUri, headers, bodyText }, now)
  const { root, key, nonce, expires, bodyBound } = verified
  enforce(limiter.take(limits.root, `${root.kind} ${root.name}`))
  const keyId = 'http-message-signature'
  const agent = await findAgent(parts, { root, externalId: externalIdOf(verified), keyId })
  const use = async (tx: Tx): Promise<void> => {
    const expiresAt = new Date((expires + nonceKeptSeconds) * 1_000)
    if (!(await insertUse(tx, { kind: 'nonce', hash: nonceHash(root, key.thumbprint, nonce), expiresAt })))
      throw signatureFault('nonce_used', 'its nonce was used before')
  }
  return withCredential(parts, agent, now, { kind: keyId, bodyBound, use })
}

/** Uses up the quote, both closed mandates and the open ones, or refuses and undoes all of it. */
const useMandates = async (tx: Tx, { quote, uses }: VerifiedMandates): Promise<void> => {
  const quoteUntil = new Date((quote.exp + mandateSkewSeconds + nonceKeptSeconds) * 1_000)
  const once = [
    { kind: 'quote' as const, hash: sha256(quote.jti), expiresAt: quoteUntil },
    ...uses.closed.map((hash) => ({ kind: 'closed' as const, hash, expiresAt: quoteUntil })),
  ]
  for (const use of once)
    if (!(await insertUse(tx, use)))
      throw new Refusal('mandate_used', {
        message: `This ${use.kind === 'quote' ? 'quote' : 'closed mandate'} was used before.`,
      })
  for (const { hash, limit, until: expiresAt } of uses.open) {
    const use = { kind: 'open' as const, hash, expiresAt }
    const isWithin = limit
      ? await countUse(tx, use, BigInt(quote.totalUsdCents), limit)
      : await insertUse(tx, use)
    if (!isWithin)
      throw new Refusal('mandate_used', {
        message: 'This order does not fit the recurrence or the budget of this open mandate.',
      })
  }
}

const admitMandates = async (parts: Parts, mandates: Mandates, { roots, now }: State): Promise<Agent> => {
  const { ctx, keySets, tokens, limiter } = parts
  const verified = await verifyMandates(
    { keySets, roots, now, audience: ctx.config.BASE_URL, tokens },
    mandates,
  )
  const { root, agentKey, quote } = verified
  enforce(limiter.take(limits.root, `${root.kind} ${root.name}`))
  const keyId = 'verifiable-intent'
  const agent = await findAgent(parts, { root, externalId: `vi:${root.name}#${agentKey}`, keyId })
  const use: KeylessCredential['use'] = async (tx, order) => {
    const isQuoted =
      order.taskType === quote.taskType &&
      order.quantity === quote.quantity &&
      order.totalUsdCents === BigInt(quote.totalUsdCents)
    if (!isQuoted)
      throw mandateFault(
        'checkout_mandate',
        'quote_mismatch',
        'the order or its price is not the one that was quoted',
      )
    await useMandates(tx, verified)
  }
  return withCredential(parts, agent, now, { kind: keyId, bodyBound: true, use })
}

const mandatesOf = (body: unknown): Mandates | undefined => {
  const given = isObject(body) ? body['ap2'] : undefined
  if (!isObject(given)) return undefined
  const textOf = (name: keyof Mandates): string => {
    const text = given[name]
    if (typeof text !== 'string') throw mandateFault(name, 'malformed', `${name} is required, as text`)
    if (text.length > mandateCharsMax)
      throw mandateFault(name, 'too_long', `${name} is longer than ${mandateCharsMax} characters`)
    return text
  }
  return { checkout_mandate: textOf('checkout_mandate'), payment_mandate: textOf('payment_mandate') }
}

/** Orders without an API key: by a signature of the request, by mandates in its body, or else a quote to close mandates over. */
export const makeKeyless = (deps: KeylessDeps) => {
  const { ctx } = deps
  const parts: Parts = {
    ...deps,
    keySets: makeKeySets(ctx),
    tokens: makeOwnTokens(deps),
    limiter: makeRateLimiter(ctx.clock),
  }
  let cached: { readonly roots: Promise<readonly Root[]>; readonly until: number } | undefined
  const listCached = (): Promise<readonly Root[]> => {
    const nowMs = performance.now()
    if (!cached || cached.until <= nowMs) {
      const roots = inTransaction(ctx, 'system', listRoots)
      cached = { roots, until: nowMs + rootsCacheMs }
      // A failure is not cached.
      roots.catch(() => (cached = undefined))
    }
    return cached.roots
  }
  return {
    precheck: async (headers: KeylessRequest['headers']): Promise<void> => {
      const roots = await listCached()
      const isSigned = hasKnownTag(headers)
      if (isSigned && !hasSignatureRoot(roots)) throw new Refusal('untrusted_agent')
      if (!isSigned && !hasIssuer(roots)) throw authRequired(roots)
    },
    authenticate: async (request: KeylessRequest): Promise<Agent> => {
      if (ctx.config.addressLimits) enforce(parts.limiter.takeFor(clientLimits.keyless, request.address))
      const state = await readState(ctx)
      if (hasKnownTag(request.headers)) return admitSignature(parts, request, state)
      const mandates = hasIssuer(state.roots) ? mandatesOf(request.body) : undefined
      if (mandates) return admitMandates(parts, mandates, state)
      throw authRequired(state.roots, await makeChallenge(parts, request, state))
    },
    /** The agent of an order token, for that order alone. The token ends with the trust root. */
    authenticateOrderToken: async (token: string): Promise<Agent> => {
      const { now } = await readState(ctx)
      const { agentId, orderId } = await parts.tokens.readOrderToken(token, now)
      const agent = await inTransaction(ctx, 'system', async (tx) =>
        (await isAgentTrusted(tx, agentId)) ? deps.findCaller(tx, agentId, 'order-token') : undefined,
      )
      if (!agent)
        throw new Refusal('invalid_api_key', { message: 'The trust root of this order token was removed.' })
      return { ...agent, onlyOrder: orderId }
    },
    /** Called after a change of the roots in this process. */
    forgetRoots: (): void => {
      cached = undefined
    },
  }
}
export type Keyless = ReturnType<typeof makeKeyless>
