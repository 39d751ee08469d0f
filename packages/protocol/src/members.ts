import { z } from 'zod'
import { operation } from './endpoint.ts'
import { uniquenessLevels } from './credentials.ts'
import { instant, json, queryInteger, reference, text, unitInterval } from './fields.ts'

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

const token = text(128)
/** What a browser's credential gives as JSON. */
const passkey = json(65_536)

export const passkeyOptions = operation({
  summary: 'What the browser needs to make a passkey, or to use one.',
  limit: 'tasks',
  errors: ['not_found', 'sign_in_required', 'forbidden'],
  body: z.object({
    purpose: z.enum(['create', 'sign_in']),
    /** Of the invitation; needed to make the first passkey. */
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
    recoveryCodes: z
      .array(z.string())
      .max(10)
      .optional()
      .meta({ description: 'Shown once, with the first passkey.' }),
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
  errors: [
    'not_found',
    'sign_in_required',
    'forbidden',
    'session_not_ready',
    'session_rejected',
    'session_expired',
    'member_not_enrolled',
  ],
  body: z.object({ token, sessionId: text(64) }),
  response: z.object({
    status: z.enum(memberStatuses),
    quality: unitInterval(),
    uniqueness: z.enum(uniquenessLevels),
  }),
})
