import { z } from 'zod'
import { credentialPolicy } from '../credentials/operations.ts'
import { operation } from '../platform/endpoint.ts'
import { displayName, email, instant, text } from '../platform/fields.ts'
import { modes, scopes } from '../platform/ids.ts'

const apiKey = z.string().meta({ description: 'Shown once. Keep it secret.' })
const keyRecord = z.object({
  keyId: z.string(),
  hint: z.string().meta({ description: 'The last four characters.' }),
  scopes: z.array(z.enum(scopes)),
  createdAt: instant(),
  expiresAt: instant().nullable(),
  revokedAt: instant().nullable(),
  lastUsedAt: instant().nullable(),
})
/** 48 characters with the cell tag, or 43 of a mail from before the tags. */
const mailToken = z
  .string()
  .regex(/^[A-Za-z0-9_-]{43}(?:[A-Za-z0-9_-]{5})?$/, 'must be the token of the mailed link')

const origin = z
  .string()
  .max(200)
  .regex(/^https?:\/\/[a-z0-9.-]+(:\d{1,5})?$/, 'must be an origin such as https://example.com')

export const register = operation({
  summary: 'Get an API key.',
  limit: 'register',
  showsSecret: true,
  body: z.object({ name: displayName(200), contactEmail: email(), mode: z.enum(modes).default('live') }),
  response: z.object({
    apiKey,
    agentId: z.string(),
    mode: z.enum(modes),
    next: z.string().meta({ description: 'What to do next, for people.' }),
  }),
})
/** Which device attestations this agent accepts. Everything else is refused. */
export const attestationSettings = z.object({
  webauthn: z
    .object({
      origins: z.array(origin).max(20).default([]),
      rpIds: z
        .array(
          z
            .string()
            .max(253)
            .regex(/^[a-z0-9.-]+$/, 'must be a host name'),
        )
        .max(20)
        .default([]),
    })
    .prefault({}),
  playIntegrity: z
    .object({
      packages: z
        .array(
          z.object({
            name: z
              .string()
              .max(256)
              .regex(/^[A-Za-z0-9_.]+$/, 'must be a package name'),
            certificateDigests: z
              .array(z.string().regex(/^[A-Za-z0-9_-]{43}$/, 'must be SHA-256 as base64url'))
              .min(1)
              .max(8),
          }),
        )
        .max(20)
        .default([]),
    })
    .prefault({}),
  appAttest: z
    .object({
      appIds: z
        .array(
          z
            .string()
            .max(256)
            .regex(/^[A-Z0-9]{10}\.[A-Za-z0-9.-]+$/, 'must be TEAMID.bundle.id'),
        )
        .max(20)
        .default([]),
      allowTestFlight: z.boolean().default(false),
    })
    .prefault({}),
})
export type AttestationSettings = z.output<typeof attestationSettings>

export const profile = operation({
  summary: 'Read your own record.',
  response: z.object({
    agentId: z.string(),
    name: z.string(),
    mode: z.enum(modes),
    contactEmail: z.string(),
    emailConfirmedAt: instant().nullable(),
    allowedOrigins: z.array(z.string()),
    attestation: attestationSettings,
    policy: credentialPolicy,
    createdAt: instant(),
    demo: z.boolean().meta({ description: 'The service runs on demo data: nothing of it is real.' }),
  }),
})
export const profileUpdate = operation({
  summary: 'Change the name, the allowed origins, the accepted device attestation or the policy.',
  body: z.object({
    name: displayName(200).optional(),
    allowedOrigins: z.array(origin).max(50).optional(),
    attestation: attestationSettings.optional(),
    policy: credentialPolicy.optional(),
  }),
  response: profile.response,
})
export const emailConfirm = operation({
  summary: 'Confirm the contact mail address.',
  errors: ['not_found'],
  limit: 'mail',
  body: z.object({ token: mailToken }),
  response: z.object({ agentId: z.string(), confirmed: z.literal(true) }),
})
export const emailResend = operation({
  summary: 'Send the confirmation mail again.',
  limit: 'mail',
  response: z.object({ sent: z.boolean() }),
})
export const keysList = operation({
  summary: 'List the API keys.',
  response: z.object({ keys: z.array(keyRecord).max(100) }),
})
export const keysCreate = operation({
  summary: 'Create another API key with fewer scopes.',
  showsSecret: true,
  body: z.object({ scopes: z.array(z.enum(scopes)).min(1).max(scopes.length) }),
  response: z.object({ apiKey, keyId: z.string(), scopes: z.array(z.enum(scopes)) }),
})
export const keysRotate = operation({
  summary: 'Replace the calling key, or the named one. The old key stays valid for a while.',
  showsSecret: true,
  errors: ['not_found'],
  body: z.object({
    overlapSeconds: z.int().min(0).max(86_400).default(3_600),
    keyId: text(64).optional().meta({
      description:
        'The key to replace, by default the calling one. It has no scope that the calling key lacks.',
    }),
  }),
  response: z.object({ apiKey, keyId: z.string(), replacedKeyId: z.string(), validUntil: instant() }),
})
export const keysRevoke = operation({
  summary: 'Revoke a key at once.',
  errors: ['not_found'],
  body: z.object({ keyId: text(64) }),
  response: z.object({ keyId: z.string(), revoked: z.literal(true) }),
})
export const keysRecover = operation({
  summary: 'Mail a recovery link to a confirmed address.',
  limit: 'mail',
  body: z.object({ contactEmail: email() }),
  response: z.object({ ok: z.literal(true), note: z.string() }),
})
export const keysRecoverComplete = operation({
  summary: 'Exchange the mailed token for a new key.',
  errors: ['not_found', 'forbidden'],
  limit: 'mail',
  showsSecret: true,
  body: z.object({ token: mailToken }),
  response: z.object({ apiKey, agentId: z.string(), mode: z.enum(modes) }),
})
