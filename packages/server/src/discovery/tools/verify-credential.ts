import { credentialKinds, decodeUnverified, verifyCredential as verify, type Fetch } from '@pohf/verify'
import type { JSONWebKeySet } from 'jose'
import { z } from 'zod'
import { Refusal } from '../../platform/http/errors.ts'
import { isRecord, resultFrom, resultOf, type Json, type Tool, type ToolCall } from './tool.ts'

/** Accepts every credential of this service that is not revoked; the caller reads the rest in the claims. */
const policy = {
  kinds: credentialKinds,
  minAssurance: 'low',
  minQuality: 0,
  status: 'if-present',
  allowTest: true,
} as const

/** Reads a status list of this service without a connection. The verifier asks for addresses of the issuer only. */
const fetchStatusList =
  ({ ctx, dispatch }: ToolCall): Fetch =>
  async (url) => {
    const list = /^\/status\/([^/?#]+)$/.exec(url.slice(ctx.config.BASE_URL.length))?.[1]
    if (list === undefined) return new Response(null, { status: 404 })
    const { status, body } = await dispatch('credentials.status.list', { params: { list } })
    return new Response(typeof body === 'string' ? body : null, { status })
  }

/** Verifies as `@pohf/verify` does everywhere, with its reasons. Claims are returned only where the signature is valid. */
const checkCredential = async (call: ToolCall, credential: string, jwks: JSONWebKeySet): Promise<Json> => {
  const result = await verify(credential, {
    issuer: call.ctx.config.BASE_URL,
    policy,
    jwks,
    // A new function for each call: the verifier keeps lists by function, and a kept list would hide a revocation.
    fetch: fetchStatusList(call),
    clock: () => call.ctx.clock.now(),
  })
  if (result.ok) return { valid: true, test: result.claims.test === true, claims: result.claims }
  const signed = result.checks.some((check) => check.name === 'signature' && check.ok)
  return {
    valid: false,
    reason: result.reason,
    message: result.message,
    ...(signed ? { claims: decodeUnverified(credential) } : {}),
  }
}

const isKeySet = (body: unknown): body is JSONWebKeySet => isRecord(body) && Array.isArray(body['keys'])

const input = z.object({ credential: z.string().max(16_384).optional() })

export const verifyCredential: Tool = {
  name: 'verify_credential',
  title: 'Verify a credential',
  description:
    'Without arguments returns the public keys (JWKS) against which any JWT library verifies a credential offline. With credential, a compact JWT of this service, returns whether it is valid, and its claims: signature, key purpose, dates and the status list are checked, so a revoked or suspended credential is not valid. A credential marked test is never proof of a real person. No key needed.',
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  needs: ['signing.jwks', 'credentials.status.list'],
  output: z.object({
    valid: z.boolean(),
    test: z.boolean(),
    reason: z.string(),
    message: z.string(),
    claims: z.looseObject({}),
    keys: z.array(z.looseObject({ kid: z.string() })),
  }),
  input,
  run: async (call) => {
    const parsed = input.safeParse(call.input)
    if (!parsed.success)
      throw new Refusal('validation_failed', {
        message: 'credential must be text of at most 16384 characters.',
      })
    const answer = await call.dispatch('signing.jwks', {})
    const { credential } = parsed.data
    if (credential === undefined || !isKeySet(answer.body)) return resultFrom(call, answer)
    const verdict = await checkCredential(call, credential, answer.body)
    return resultOf({ ...verdict, jwks: `${call.ctx.config.BASE_URL}/.well-known/jwks.json` })
  },
}
