import { z } from 'zod'
import { operation } from '../platform/endpoint.ts'
import { instant, json, reference, text, unitInterval } from '../platform/fields.ts'
import { assurances } from '../credentials/operations.ts'

export const walletChallenge = operation({
  summary: 'Get the message that a wallet signs.',
  body: z.object({
    wallet: z
      .string()
      .regex(/^0x[0-9a-fA-F]{40}$/, 'must be an EVM address')
      .optional(),
    chainId: z
      .int()
      .min(1)
      .max(2 ** 32)
      .optional(),
    memberId: reference(128).optional(),
  }),
  response: z.object({ nonce: z.string(), message: z.string(), expiresAt: instant() }),
})
export const components = z.object({
  focus: unitInterval().nullable(),
  probe: unitInterval().nullable(),
  input: unitInterval().nullable(),
  gaze: unitInterval().nullable(),
  device: unitInterval().nullable(),
  history: unitInterval().nullable(),
})
export const kineticSubmit = operation({
  summary: 'Submit physical-presence evidence.',
  errors: ['not_found', 'member_not_enrolled', 'photo_hash_used'],
  body: z.object({
    memberId: reference(128),
    source: z.enum(['receipt', 'geo_photo']),
    lat: z.number().min(-90).max(90).optional(),
    lng: z.number().min(-180).max(180).optional(),
    photoHash: reference(256).optional(),
  }),
  response: z.object({
    sessionId: z.string(),
    status: z.string(),
    quality: unitInterval(),
    verified: z.boolean(),
    assurance: z.enum(assurances),
    flags: z.array(z.string()).max(32),
    /** Why the session is not verified; empty where it is. */
    reasons: z.array(z.string()).max(32),
    components,
  }),
})
export const sandboxProfiles = ['human', 'bot', 'replay', 'idle'] as const
export const testSession = operation({
  summary: 'Create a simulated session for a test key, scored like a real one.',
  body: z.object({
    /** Default: an attentive person at a keyboard. */
    profile: z.enum(sandboxProfiles).optional(),
    /** Default: a view; `work` delivers a unit of work in the sandbox. */
    kind: z.enum(['view', 'work']).optional(),
    challenge: text(128).optional(),
  }),
  response: z.object({
    sessionId: z.string(),
    profile: z.enum(sandboxProfiles),
    status: z.string(),
    quality: unitInterval(),
    verified: z.boolean(),
    assurance: z.enum(assurances),
    scoring: z.string(),
    flags: z.array(z.string()).max(32),
    reasons: z.array(z.string()).max(32),
    components,
  }),
})
export const attestChallenge = operation({
  summary: 'Get a nonce for device attestation.',
  response: z.object({ nonce: z.string(), challengeB64url: z.string(), expiresAt: instant() }),
})
export const deviceAssurances = ['none', 'software', 'hardware', 'hardware_strong'] as const
export const attestVerify = operation({
  summary: 'Check device attestation.',
  errors: ['nonce_used', 'nonce_expired'],
  body: z.object({
    method: z.enum(['webauthn', 'play_integrity', 'app_attest']),
    nonce: text(128),
    subjectRef: reference(128),
    evidence: json(65_536).optional(),
  }),
  response: z.object({
    attested: z.boolean(),
    assurance: z.enum(deviceAssurances),
    reason: z.string().optional(),
  }),
})
