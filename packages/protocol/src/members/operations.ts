import { z } from 'zod'
import { operation } from '../platform/endpoint.ts'
import { uniquenessLevels } from '../credentials/operations.ts'
import { modes } from '../platform/ids.ts'
import { recordedChunks } from '../sessions/operations.ts'
import { instant, json, queryInteger, reference, text, unitInterval } from '../platform/fields.ts'

const memberStatuses = ['invited', 'consented', 'enrolled', 'withdrawn'] as const

const member = z.object({
  memberId: z.string(),
  externalRef: z.string().nullable(),
  status: z.enum(memberStatuses).meta({
    description:
      'invited: the link was not used. consented: agreed and has a passkey, the attention check is missing. enrolled: personhood can be verified. withdrawn: took the consent back.',
  }),
  uniqueness: z.enum(uniquenessLevels),
  methods: z.array(z.string()).max(16),
  checkedAt: instant()
    .nullable()
    .meta({ description: 'When the last attention check that counted was made.' }),
  quality: unitInterval().nullable(),
  createdAt: instant(),
})

export const create = operation({
  summary: 'Invite a person to enrol as your member.',
  showsSecret: true,
  body: z.object({ externalRef: reference(128).optional() }),
  response: z.object({
    memberId: z.string(),
    enrolUrl: z.url().meta({ description: 'For this person alone. It works for seven days.' }),
    expiresAt: instant(),
    status: z.enum(memberStatuses),
  }),
})
export const list = operation({
  summary: 'Your members, newest first.',
  query: z.object({ after: text(64).optional(), limit: queryInteger(1, 100).optional() }),
  response: z.object({ members: z.array(member).max(100), nextCursor: z.string().nullable() }),
})
export const read = operation({
  summary: 'One of your members.',
  errors: ['not_found'],
  params: z.object({ memberId: text(64) }),
  response: member,
})

export const actOnce = operation({
  summary: 'Let a human do one act once: a vote, a sign-up gift, a place in a queue.',
  errors: ['not_found', 'member_not_enrolled'],
  params: z.object({ memberId: text(64) }),
  body: z.object({ action: reference(128) }),
  response: z.object({
    action: z.string(),
    first: z.boolean().meta({ description: 'False where this human did it before.' }),
    nullifier: z
      .string()
      .meta({ description: 'The same for this human, agent and act, and for nothing else.' }),
  }),
})

const token = text(128)
/** The JSON form of a browser's credential. */
const passkey = json(65_536)

const recoveryCodes = z.array(z.string()).max(10)

export const passkeyOptions = operation({
  summary: 'What the browser needs to make a passkey, or to use one.',
  limit: 'tasks',
  errors: ['not_found', 'sign_in_required', 'forbidden'],
  body: z.object({
    purpose: z.enum(['create', 'sign_in', 'confirm']).meta({
      description: 'confirm: whoever is signed in shows a passkey once more, for an act that needs it.',
    }),
    /** Of the invitation; required for the first passkey. */
    token: token.optional(),
  }),
  response: z.object({ publicKey: z.record(z.string(), z.unknown()) }),
})
export const enrol = operation({
  summary: 'The invited person agrees, by a new passkey or signed in with one.',
  limit: 'tasks',
  errors: ['not_found', 'sign_in_required', 'forbidden', 'member_not_enrolled', 'passkey_refused'],
  body: z.object({
    token,
    consentVersion: text(32),
    language: z.enum(['en', 'de']),
    credential: passkey.optional(),
  }),
  response: z.object({
    status: z.enum(memberStatuses),
    site: z.string(),
    challenge: z.string().meta({ description: 'What the attention check must carry.' }),
    recoveryCodes: recoveryCodes.optional().meta({ description: 'Shown once, with the first passkey.' }),
  }),
})
export const signIn = operation({
  summary: 'Sign in with a passkey, or with a recovery code.',
  limit: 'tasks',
  errors: ['forbidden', 'passkey_refused', 'validation_failed'],
  body: z.object({ credential: passkey.optional(), recoveryCode: text(64).optional() }),
  response: z.object({ signedIn: z.literal(true) }),
})
export const signOut = operation({
  summary: 'Sign out.',
  limit: 'tasks',
  errors: ['forbidden'],
  response: z.object({ signedIn: z.literal(false) }),
})
export const attention = operation({
  summary: 'Tie a finished attention check to the membership.',
  limit: 'tasks',
  errors: ['not_found', 'session_not_ready', 'session_rejected', 'session_expired', 'member_not_enrolled'],
  body: z.object({ token, sessionId: text(64) }),
  response: z.object({
    status: z.enum(memberStatuses),
    quality: unitInterval(),
    uniqueness: z.enum(uniquenessLevels),
  }),
})

const act = z.object({
  sessionId: z.string(),
  kind: z.string(),
  at: instant(),
  status: z.string(),
  verified: z.boolean().nullable(),
  quality: unitInterval().nullable(),
  flags: z.array(z.string()).max(32),
  credentialId: z.string().nullable(),
})
export const me = operation({
  summary: 'All that is held of the person who is signed in.',
  limit: 'tasks',
  response: z.object({
    passkeys: z
      .array(
        z.object({
          id: z.string(),
          createdAt: instant(),
          usedAt: instant(),
          assurance: z.string(),
          synced: z.boolean(),
        }),
      )
      .max(20),
    proofs: z.array(z.object({ issuer: z.string(), at: instant() })).max(10),
    signal: z.string().meta({ description: 'What a proof of an issuer outside must cover.' }),
    recoveryCodesLeft: z.int().min(0),
    memberships: z
      .array(
        member.omit({ createdAt: true }).extend({
          agentId: z.string(),
          agentName: z.string().nullable(),
          mode: z.enum(modes),
          goodChecks: z.int().min(0),
          failedChecks: z.int().min(0),
          consents: z
            .array(
              z.object({
                at: instant(),
                act: z.string(),
                version: z.string(),
                language: z.string(),
              }),
            )
            .max(100),
          sessions: z.array(act).max(500),
        }),
      )
      .max(1_000),
  }),
})
export const recording = operation({
  summary: 'A recording of the person who is signed in, chunk by chunk.',
  limit: 'tasks',
  errors: ['not_found'],
  ...recordedChunks,
})
export const exportAll = operation({
  summary: 'The same as one JSON file, with the recordings opened.',
  limit: 'tasks',
  response: z.record(z.string(), z.unknown()),
})
export const withdraw = operation({
  summary: 'Take the consent back that one agent was given.',
  limit: 'tasks',
  errors: ['not_found'],
  body: z.object({ memberId: text(64), language: z.enum(['en', 'de']) }),
  response: z.object({ status: z.literal('withdrawn') }),
})
export const erase = operation({
  summary: 'Delete the person who is signed in, with everything that is held of them.',
  limit: 'tasks',
  body: z.object({ confirm: z.literal('delete everything') }),
  response: z.object({ erased: z.literal(true), memberships: z.int().min(0) }),
})
export const passkeyAdd = operation({
  summary: 'Add a further passkey.',
  limit: 'tasks',
  errors: ['passkey_refused'],
  body: z.object({ credential: passkey }),
  response: z.object({ added: z.literal(true) }),
})
export const codesRenew = operation({
  summary: 'New recovery codes; the old ones stop working. A passkey confirms it.',
  limit: 'tasks',
  showsSecret: true,
  errors: ['passkey_refused'],
  body: z.object({ credential: passkey }),
  response: z.object({ recoveryCodes: recoveryCodes.meta({ description: 'Shown once.' }) }),
})
export const proofAdd = operation({
  summary: 'Add the proof of an issuer outside that tells one human from another.',
  limit: 'tasks',
  errors: ['not_found', 'proof_refused', 'member_not_enrolled'],
  body: z.object({ issuer: text(64), proof: json(65_536) }),
  response: z.object({ added: z.literal(true) }),
})
export const operatorErase = operation({
  summary: 'Delete the person behind a member.',
  errors: ['not_found'],
  params: z.object({ agentId: text(64), memberId: text(64) }),
  body: z.object({ mode: z.enum(modes), reason: text(500) }),
  response: z.object({ erased: z.literal(true), memberships: z.int().min(0) }),
})
