import { credentialClaims } from '@pohf/protocol'
import { createLocalJWKSet, errors, jwtVerify, type JSONWebKeySet } from 'jose'
import { z } from 'zod'
import { Refusal } from '../../platform/http/errors.ts'
import { isRecord, resultFrom, resultOf, type Json, type Tool } from './tool.ts'

type VerificationResult = {
  readonly valid: boolean
  readonly reason?: string
  readonly test?: boolean
  readonly claims?: Json
}

/** Our reasons for the library's error codes. */
const reasons: Readonly<Record<string, string>> = {
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: 'bad_signature',
  ERR_JWKS_NO_MATCHING_KEY: 'unknown_key',
  ERR_JWT_CLAIM_VALIDATION_FAILED: 'wrong_claims',
}

type VerificationContext = { readonly baseUrl: string; readonly now: Date; readonly jwks: JSONWebKeySet }

/** Checks a credential of this service against its public keys. Claims are returned only where the signature is valid. */
const checkCredential = async (
  credential: string,
  against: VerificationContext,
): Promise<VerificationResult> => {
  try {
    const { payload } = await jwtVerify(credential, createLocalJWKSet(against.jwks), {
      algorithms: ['ES256'],
      issuer: [against.baseUrl, `${against.baseUrl}/test`],
      typ: 'JWT',
      requiredClaims: ['exp'],
      currentDate: against.now,
    })
    if (!credentialClaims.safeParse(payload).success) return { valid: false, reason: 'wrong_claims' }
    return { valid: true, test: payload['test'] === true, claims: payload }
  } catch (error) {
    if (error instanceof errors.JWTExpired) return { valid: false, reason: 'expired', claims: error.payload }
    return {
      valid: false,
      reason: error instanceof errors.JOSEError ? (reasons[error.code] ?? 'malformed') : 'malformed',
    }
  }
}

const isKeySet = (body: unknown): body is JSONWebKeySet => isRecord(body) && Array.isArray(body['keys'])

const input = z.object({ credential: z.string().max(16_384).optional() })

export const verifyCredential: Tool = {
  name: 'verify_credential',
  title: 'Verify a credential',
  description:
    'Without arguments returns the public keys (JWKS) against which any JWT library verifies a credential offline. With credential, a compact JWT of this service, returns whether it is valid, and its claims. A credential marked test is never proof of a real person. Revocation is not looked up. No key needed.',
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  needs: ['signing.jwks'],
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
    const baseUrl = call.ctx.config.BASE_URL
    const now = call.ctx.clock.now()
    const verdict = await checkCredential(credential, { baseUrl, now, jwks: answer.body })
    return resultOf({ ...verdict, jwks: `${baseUrl}/.well-known/jwks.json` })
  },
}
