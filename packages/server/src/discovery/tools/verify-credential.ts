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

/**
 * Functions that return a status list, by its text. The verifier keeps an unpacked list by its function (unpacking takes 5 of 6 ms),
 * so a list that was published anew has another function, and no kept list hides a revocation.
 */
const listFunctions = new Map<string, Fetch>()
/** A list is 350 kB at most. */
const listFunctionsMax = 8

const functionFor = (text: string): Fetch => {
  const known = listFunctions.get(text)
  if (known) return known
  const [oldest] = listFunctions.keys()
  if (listFunctions.size >= listFunctionsMax && oldest !== undefined) listFunctions.delete(oldest)
  const fetchList: Fetch = () => Promise.resolve(new Response(text))
  listFunctions.set(text, fetchList)
  return fetchList
}

const fetchNothing: Fetch = () => Promise.resolve(new Response(null, { status: 404 }))

/** Reads the status list that a credential names, where it is one of this service, without a connection. */
const readStatusList = async ({ ctx, dispatch }: ToolCall, credential: string): Promise<Fetch> => {
  const status = decodeUnverified(credential)?.['status']
  const named = isRecord(status) && isRecord(status['status_list']) ? status['status_list']['uri'] : undefined
  const list =
    typeof named === 'string' && named.startsWith(`${ctx.config.BASE_URL}/`)
      ? /^\/status\/([^/?#]+)$/.exec(named.slice(ctx.config.BASE_URL.length))?.[1]
      : undefined
  if (list === undefined) return fetchNothing
  const { status: code, body } = await dispatch('credentials.status.list', { params: { list } })
  return code === 200 && typeof body === 'string' ? functionFor(body) : fetchNothing
}

/** Verifies as `@pohf/verify` does everywhere, with its reasons. Claims are returned only where the signature is valid. */
const checkCredential = async (call: ToolCall, credential: string, jwks: JSONWebKeySet): Promise<Json> => {
  const result = await verify(credential, {
    issuer: call.ctx.config.BASE_URL,
    policy,
    jwks,
    fetch: await readStatusList(call, credential),
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
