import { z } from 'zod'
import { operation } from '../platform/endpoint.ts'
import { displayName, instant, json, text } from '../platform/fields.ts'

/** The JSON form of a browser's credential. */
const passkey = json(65_536)
const options = z.object({ publicKey: z.record(z.string(), z.unknown()) })

export const signInOptions = operation({
  summary:
    'Get the options to sign in as an operator with a passkey. They work once, in this browser, for 5 minutes.',
  limit: 'tasks',
  duringRestore: true,
  errors: ['forbidden'],
  response: options,
})
export const signIn = operation({
  summary: 'Sign in as an operator with a passkey.',
  limit: 'tasks',
  duringRestore: true,
  errors: ['forbidden', 'passkey_refused'],
  body: z.object({ credential: passkey }),
  response: z.object({ signedIn: z.literal(true) }),
})
export const signOut = operation({
  summary: 'Sign out of the operators’ pages.',
  limit: 'tasks',
  duringRestore: true,
  errors: ['forbidden'],
  response: z.object({ signedIn: z.literal(false) }),
})
export const operatorToken = operation({
  summary: 'Get a bearer of ten minutes for the operators’ listener.',
  limit: 'console',
  duringRestore: true,
  showsSecret: true,
  body: z.object({
    active: z.boolean().meta({
      description:
        'Whether the operator used the page in the last ten minutes. A session that was not used for 30 minutes ends.',
    }),
  }),
  response: z.object({
    token: z.string().meta({ description: 'Send it as Authorization: Bearer. Keep it in memory only.' }),
    expiresAt: instant(),
    operatorId: z.string(),
    name: z.string(),
    recentUntil: instant().meta({
      description:
        'Until then the sign-in counts as recent. Later, what lasts or moves money answers operator_sign_in_again.',
    }),
  }),
})

export const passkeysList = operation({
  summary: 'List your passkeys as an operator.',
  response: z.object({
    passkeys: z
      .array(
        z.object({
          id: z.string(),
          name: z.string(),
          createdAt: instant(),
          lastUsedAt: instant().nullable(),
        }),
      )
      .max(10),
  }),
})
export const passkeyOptions = operation({
  summary: 'Get the options to create a passkey as an operator.',
  errors: ['forbidden'],
  response: options,
})
export const passkeyRegister = operation({
  summary: 'Add a passkey as an operator.',
  errors: ['forbidden', 'passkey_refused'],
  body: z.object({ credential: passkey, name: displayName(60) }),
  response: z.object({ id: z.string(), name: z.string() }),
})
export const passkeyRemove = operation({
  summary: 'Remove one of your passkeys. Every session that was signed in with it ends.',
  errors: ['not_found'],
  params: z.object({ passkeyId: text(64) }),
  response: z.object({ id: z.string(), removed: z.literal(true) }),
})

export const sessionsList = operation({
  summary: 'List the sessions in which you are signed in as an operator.',
  response: z.object({
    sessions: z
      .array(
        z.object({
          id: z.string(),
          browser: z.string().meta({ description: 'Browser and system, as the browser named itself.' }),
          createdAt: instant(),
          lastSeenAt: instant(),
          expiresAt: instant(),
          isThis: z.boolean(),
        }),
      )
      .max(20),
  }),
})
export const sessionEnd = operation({
  summary: 'End one of your sessions as an operator.',
  errors: ['not_found'],
  params: z.object({ sessionId: text(64) }),
  response: z.object({ id: z.string(), ended: z.literal(true) }),
})
