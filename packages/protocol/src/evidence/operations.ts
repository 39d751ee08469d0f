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
  errors: ['not_found', 'member_not_enrolled', 'session_expired', 'photo_hash_used'],
  body: z.object({
    memberId: reference(128),
    source: z.enum(['receipt', 'geo_photo']),
    lat: z.number().min(-90).max(90).optional(),
    lng: z.number().min(-180).max(180).optional(),
    photoHash: reference(256).optional(),
    sessionId: reference(128).optional().meta({
      description:
        'A verified session of your site in which the person took part and that ended in the last 15 minutes. Without it, the last attention check of the member counts, if it is that recent. Test keys need none.',
    }),
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
  body: z.object({
    subjectRef: reference(128).optional().meta({
      description:
        'The session or member that the verdict is for. The challenge then contains the key of the session, or of the last attention check of the member. A verdict without it raises no credential.',
    }),
  }),
  response: z.object({
    nonce: z.string(),
    challengeB64url: z.string().meta({ description: 'What the device signs.' }),
    bound: z.boolean().meta({ description: 'Whether the challenge contains the key of a session.' }),
    expiresAt: instant(),
  }),
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
    reason: z.string().optional().meta({
      description: 'Why the device is not attested, or why its verdict raises no credential.',
    }),
  }),
})

const stepUpToken = text(900).meta({ description: 'The last part of the address of the step-up page.' })
export const stepUpLink = operation({
  summary: 'Get the address of a page on which a person answers with an attested authenticator.',
  body: z.object({
    subjectRef: reference(128).meta({ description: 'A session of your site, or a member.' }),
  }),
  response: z.object({ url: z.url(), expiresAt: instant() }),
})
const keyDescriptor = z.object({ type: z.literal('public-key'), id: z.string() })
export const stepUpOptions = operation({
  summary: 'Get the WebAuthn options of the step-up page.',
  limit: 'tasks',
  errors: ['forbidden', 'not_found'],
  body: z.object({
    token: stepUpToken,
    keyId: text(1_400).optional().meta({ description: 'The key that this browser used before.' }),
  }),
  response: z.object({
    nonce: z.string(),
    use: z
      .object({
        challenge: z.string(),
        rpId: z.string(),
        userVerification: z.literal('required'),
        allowCredentials: z.array(keyDescriptor).max(1),
      })
      .optional(),
    create: z
      .object({
        challenge: z.string(),
        rp: z.object({ id: z.string(), name: z.string() }),
        user: z.object({ id: z.string(), name: z.string(), displayName: z.string() }),
        pubKeyCredParams: z.array(z.object({ type: z.literal('public-key'), alg: z.int() })).max(8),
        authenticatorSelection: z.object({
          authenticatorAttachment: z.literal('cross-platform'),
          residentKey: z.literal('discouraged'),
          userVerification: z.literal('required'),
        }),
        attestation: z.literal('direct'),
      })
      .optional(),
  }),
})
export const stepUp = operation({
  summary: 'Answer on the step-up page with an attested authenticator.',
  limit: 'tasks',
  errors: ['forbidden', 'not_found', 'nonce_used', 'nonce_expired'],
  body: z.object({ token: stepUpToken, nonce: text(128), credential: json(65_536) }),
  response: z.object({
    attested: z.boolean().meta({ description: 'Whether the credential of the session can rest on it.' }),
    reason: z.string().optional(),
  }),
})

export const operatorAdmit = operation({
  summary:
    'Admit an app or relying party of an agent, so that its verdicts raise credentials, or take it back.',
  errors: ['not_found'],
  params: z.object({ agentId: text(64) }),
  body: z.object({
    kind: z.enum(['app', 'rp_id']),
    name: text(256).meta({
      description: 'App id or package name of an app, or relying-party id of passkeys.',
    }),
    admitted: z.boolean(),
    reason: text(500),
  }),
  response: z.object({
    agentId: z.string(),
    kind: z.enum(['app', 'rp_id']),
    name: z.string(),
    admitted: z.boolean(),
  }),
})
