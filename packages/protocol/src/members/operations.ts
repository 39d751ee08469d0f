import { z } from 'zod'
import { operation } from '../platform/endpoint.ts'
import { uniquenessLevels } from '../credentials/operations.ts'
import { modes } from '../platform/ids.ts'
import { recordedChunks } from '../sessions/operations.ts'
import { instant, json, queryInteger, reference, text, unitInterval } from '../platform/fields.ts'
import { begunCheck, finishedCheck, offeredIssuer, shownProof } from '../issuers/operations.ts'

const memberStatuses = ['invited', 'consented', 'enrolled', 'withdrawn'] as const

export const member = z.object({
  memberId: z.string(),
  externalRef: z.string().nullable(),
  status: z.enum(memberStatuses).meta({
    description:
      'invited: the link was not used. consented: the person agreed and has a passkey; the attention check is missing. enrolled: personhood can be verified. withdrawn: the person withdrew consent.',
  }),
  uniqueness: z.enum(uniquenessLevels),
  methods: z.array(z.string()).max(16),
  checkedAt: instant().nullable().meta({ description: 'The time of the last attention check that counted.' }),
  quality: unitInterval().nullable(),
  createdAt: instant(),
})

export const create = operation({
  summary: 'Invite a person to enrol as your member.',
  showsSecret: true,
  errors: ['not_found'],
  body: z.object({
    externalRef: reference(128)
      .optional()
      .meta({ description: 'Your own name for the person: the same value returns the same member.' }),
    memberId: text(64)
      .optional()
      .meta({ description: 'One of your members, who gets a new link, for example to renew the check.' }),
  }),
  response: z.object({
    memberId: z.string(),
    enrolUrl: z.url().meta({ description: 'For this person only. It is valid for seven days.' }),
    expiresAt: instant(),
    status: z.enum(memberStatuses),
  }),
})
export const list = operation({
  summary: 'List your members, newest first.',
  query: z.object({ after: text(64).optional(), limit: queryInteger(1, 100).optional() }),
  response: z.object({ members: z.array(member).max(100), nextCursor: z.string().nullable() }),
})
export const read = operation({
  summary: 'Read one of your members.',
  errors: ['not_found'],
  params: z.object({ memberId: text(64) }),
  response: member,
})

export const actOnce = operation({
  summary: 'Record an act that each human may do once: a vote, a sign-up bonus, a place in a queue.',
  errors: ['not_found', 'member_not_enrolled'],
  params: z.object({ memberId: text(64) }),
  body: z.object({ action: reference(128) }),
  response: z.object({
    action: z.string(),
    first: z.boolean().meta({ description: 'False if this human did the act before.' }),
    nullifier: z
      .string()
      .meta({ description: 'Stable for one human, agent and act; different for any other.' }),
  }),
})

const token = text(128)
/** The JSON form of a browser's credential. */
const passkey = json(65_536)

const recoveryCodes = z.array(z.string()).max(10)

export const passkeyOptions = operation({
  summary: 'Get the options to create or use a passkey.',
  limit: 'tasks',
  errors: ['not_found', 'sign_in_required', 'forbidden'],
  body: z.object({
    purpose: z.enum(['create', 'sign_in', 'confirm']).meta({
      description:
        'confirm: the person who is signed in uses a passkey again, for an operation that requires it.',
    }),
    /** Of the invitation; required for the first passkey. */
    token: token.optional(),
  }),
  response: z.object({ publicKey: z.record(z.string(), z.unknown()) }),
})
export const enrol = operation({
  summary: 'Accept an invitation, with a new passkey or signed in with an existing one.',
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
    checkRequired: z
      .boolean()
      .meta({ description: 'Whether the attention check is missing, or older than 150 days.' }),
    site: z.string().meta({ description: 'The site of the attention check: the platform agent.' }),
    challenge: z.string().meta({ description: 'The challenge that the attention check must carry.' }),
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
  summary: 'Attach a finished attention check to the membership.',
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
  summary: 'Read all stored data of the person who is signed in.',
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
          model: z.string().nullable(),
        }),
      )
      .max(20),
    proofs: z.array(shownProof.extend({ withdrawn: z.boolean(), countsNow: z.boolean() })).max(10),
    issuers: z.array(offeredIssuer).max(20),
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
  summary: 'Read a recording of the person who is signed in, chunk by chunk.',
  limit: 'tasks',
  errors: ['not_found'],
  ...recordedChunks,
})
export const exportAll = operation({
  summary: 'Export all stored data of the person as one JSON file, with the decrypted recordings.',
  limit: 'tasks',
  response: z.record(z.string(), z.unknown()),
})
export const withdraw = operation({
  summary: 'Withdraw the consent given to one agent.',
  limit: 'tasks',
  errors: ['not_found'],
  body: z.object({ memberId: text(64), language: z.enum(['en', 'de']) }),
  response: z.object({ status: z.literal('withdrawn') }),
})
export const erase = operation({
  summary: 'Delete the person who is signed in, with all their stored data.',
  limit: 'tasks',
  body: z.object({ confirm: z.literal('delete everything') }),
  response: z.object({ erased: z.literal(true), memberships: z.int().min(0) }),
})
export const passkeyAdd = operation({
  summary: 'Add another passkey.',
  limit: 'tasks',
  errors: ['passkey_refused'],
  body: z.object({ credential: passkey }),
  response: z.object({ added: z.literal(true) }),
})
export const codesRenew = operation({
  summary: 'Replace the recovery codes, confirmed with a passkey. The old codes stop working.',
  limit: 'tasks',
  showsSecret: true,
  errors: ['passkey_refused'],
  body: z.object({ credential: passkey }),
  response: z.object({ recoveryCodes: recoveryCodes.meta({ description: 'Shown once.' }) }),
})
const issuerName = text(128).meta({ description: 'The name of an outside issuer in the settings.' })
export const proofBegin = operation({
  summary: 'Begin a check with an outside issuer for the person who is signed in.',
  limit: 'tasks',
  showsSecret: true,
  errors: ['not_found', 'proof_refused', 'issuer_unavailable'],
  body: z.object({
    issuer: issuerName,
    memberId: text(64).optional().meta({
      description: 'A membership of the person. Some issuers count for the agent of that membership alone.',
    }),
  }),
  response: begunCheck,
})
export const proofFinish = operation({
  summary: 'Finish a check with an outside issuer and store what it showed.',
  limit: 'tasks',
  errors: ['proof_refused', 'member_not_enrolled', 'issuer_unavailable'],
  body: finishedCheck,
  response: shownProof,
})
export const operatorInvite = operation({
  summary: 'Invite a person to work for this deployment.',
  showsSecret: true,
  body: z.object({ mode: z.enum(modes).default('live'), externalRef: reference(128).optional() }),
  response: create.response,
})
export const operatorErase = operation({
  summary: 'Erase the person behind a member.',
  errors: ['not_found'],
  params: z.object({ agentId: text(64), memberId: text(64) }),
  body: z.object({ mode: z.enum(modes), reason: text(500) }),
  response: z.object({ erased: z.literal(true), memberships: z.int().min(0) }),
})
