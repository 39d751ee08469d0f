import { createLocalJWKSet, jwtVerify, type JWTPayload } from 'jose'
import type { Agent } from '../platform/http/call.ts'
import { Refusal } from '../platform/http/errors.ts'
import type { Ctx } from '../platform/ops/context.ts'
import type { Signer } from '../signing/index.ts'
import { orderTokenSeconds, quoteSeconds } from './rules.ts'

/** A quote for one order, in whole cents. */
export type Quote = {
  readonly jti: string
  readonly taskType: string
  readonly quantity: number
  readonly totalUsdCents: number
  /** In seconds. */
  readonly exp: number
}

type TokenDeps = { readonly ctx: Ctx; readonly signer: Pick<Signer, 'publicKeys' | 'signTyped'> }
type ReadToken = (
  typ: 'checkout+jwt' | 'order+jwt',
  token: string,
  now: number,
) => Promise<JWTPayload | undefined>

/** Reads the claims of a token of ours; undefined for any other text. Only the keys of orders count. */
const makeReadToken =
  ({ ctx, signer }: TokenDeps): ReadToken =>
  async (typ, token, now) => {
    const keys = (await signer.publicKeys()).filter(({ pohf_purpose: purpose }) => purpose === 'order')
    try {
      const { payload } = await jwtVerify(token, createLocalJWKSet({ keys }), {
        algorithms: ['ES256'],
        typ,
        issuer: ctx.config.BASE_URL,
        currentDate: new Date(now * 1_000),
      })
      return payload
    } catch {
      return undefined
    }
  }

/** What the signer put into a quote. */
type QuoteClaims = {
  readonly jti: string
  readonly exp: number
  readonly line_items: readonly [{ readonly id: string; readonly quantity: number }]
  readonly total: { readonly amount: number }
}

const makeQuotes = ({ ctx, signer }: TokenDeps, readToken: ReadToken) => {
  const iss = ctx.config.BASE_URL
  const merchant = { id: iss, name: new URL(iss).host, website: iss }
  return {
    merchant,
    signQuote: async (order: Omit<Quote, 'jti' | 'exp'>, iat: number) => {
      const jti = ctx.ids.make('quo_')
      const exp = iat + quoteSeconds
      const { taskType: id, quantity, totalUsdCents: amount } = order
      const token = await signer.signTyped('checkout+jwt', {
        iss,
        jti,
        iat,
        exp,
        merchant,
        line_items: [{ id, quantity, unit_price: amount / quantity }],
        total: { amount, currency: 'USD' },
      })
      return { jti, expiresAt: new Date(exp * 1_000).toISOString(), token }
    },
    readQuote: async (token: string, now: number): Promise<Quote | undefined> => {
      const claims = await readToken('checkout+jwt', token, now)
      if (!claims) return undefined
      const { jti, exp, line_items: items, total } = claims as unknown as QuoteClaims
      const [{ id, quantity }] = items
      return { jti, exp, taskType: id, quantity, totalUsdCents: total.amount }
    },
  }
}

const makeOrderTokens = ({ ctx, signer }: TokenDeps, readToken: ReadToken) => ({
  signOrderToken: async (
    { agentId, mode }: Pick<Agent, 'agentId' | 'mode'>,
    orderId: string,
    iat: number,
  ): Promise<string> =>
    signer.signTyped('order+jwt', {
      iss: ctx.config.BASE_URL,
      sub: agentId,
      order: orderId,
      mode,
      iat,
      exp: iat + orderTokenSeconds,
    }),
  readOrderToken: async (token: string, now: number): Promise<{ agentId: string; orderId: string }> => {
    const claims = await readToken('order+jwt', token, now)
    const orderId = claims?.['order']
    if (!claims?.sub || typeof orderId !== 'string')
      throw new Refusal('invalid_api_key', { message: 'This order token is not valid, or it has expired.' })
    return { agentId: claims.sub, orderId }
  },
})

/** The quotes and order tokens that this deployment signs, and reads back. */
export const makeOwnTokens = (deps: TokenDeps) => {
  const readToken = makeReadToken(deps)
  return { ...makeQuotes(deps, readToken), ...makeOrderTokens(deps, readToken) }
}
export type OwnTokens = ReturnType<typeof makeOwnTokens>
