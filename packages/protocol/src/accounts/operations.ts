import { z } from 'zod'
import { operation } from '../platform/endpoint.ts'
import { modes } from '../platform/ids.ts'
import { displayName, email, instant, json, text } from '../platform/fields.ts'

/** What a person of an account may do. Each role may do all that the roles after it may. */
export const accountRoles = ['owner', 'developer', 'viewer'] as const
export type AccountRole = (typeof accountRoles)[number]

export const role = z.enum(accountRoles).meta({
  description:
    'owner: everything. developer: everything but people, and in live mode keys and billing. viewer: reads only.',
})

const accountId = text(64).optional().meta({
  description:
    'The account that the page shows. Where the session is in another one, the answer is other_account.',
})

export const linkSent = z.object({
  sent: z.literal(true).meta({ description: 'The answer is the same for every address.' }),
  note: z.string(),
})
const signedIn = z.object({ signedIn: z.literal(true) })

export const signUp = operation({
  summary:
    'Ask for an account. A mail with a link arrives; the link works once, in this browser, for 15 minutes.',
  limit: 'mail',
  errors: ['forbidden'],
  body: z.object({
    name: displayName(80).meta({ description: 'The name of the account, such as the name of a company.' }),
    email: email(),
  }),
  response: linkSent,
  also: { 202: linkSent },
})
export const signIn = operation({
  summary: 'Ask for a link to sign in to the console. The link works once, in this browser, for 15 minutes.',
  limit: 'mail',
  errors: ['forbidden'],
  body: z.object({ email: email() }),
  response: linkSent,
  also: { 202: linkSent },
})
export const link = operation({
  summary: 'Use a mailed link: sign in to the console, and create or join the account that the mail names.',
  limit: 'tasks',
  errors: ['forbidden', 'not_found', 'other_browser'],
  body: z.object({ token: text(128) }),
  response: signedIn,
})
export const signOut = operation({
  summary: 'Sign out of the console.',
  limit: 'tasks',
  errors: ['forbidden'],
  response: z.object({ signedIn: z.literal(false) }),
})

const ownedAgent = z.object({ id: z.string(), name: z.string() })

export const account = operation({
  summary: 'Read the account, the person who is signed in, and the agents of the account.',
  limit: 'console',
  response: z.object({
    account: z.object({ id: z.string(), name: z.string(), createdAt: instant() }),
    person: z.object({ id: z.string(), email: z.string(), role }),
    agents: z.object({ live: ownedAgent.nullable(), test: ownedAgent.nullable() }),
    session: z.object({
      id: z.string(),
      expiresAt: instant(),
      recentUntil: instant().meta({
        description:
          'Until then the sign-in counts as recent. Later, people, passkeys, claims, keys, webhooks, settings of an agent and live billing answer sign_in_again.',
      }),
    }),
    accounts: z
      .array(z.object({ id: z.string(), name: z.string(), role }))
      .max(20)
      .meta({ description: 'All accounts of the person: POST /console/switch changes to one of them.' }),
    invitations: z
      .array(z.object({ accountId: z.string(), accountName: z.string(), invitedBy: z.string(), role }))
      .max(20)
      .meta({ description: 'Invitations to this address: POST /console/join accepts one.' }),
    claimable: z
      .array(
        z.object({
          id: z.string(),
          name: z.string(),
          mode: z.enum(modes),
          createdAt: instant(),
          keys: z
            .array(
              z.object({
                hint: z.string(),
                createdAt: instant(),
                lastUsedAt: instant().nullable(),
                expiresAt: instant().nullable(),
              }),
            )
            .max(40)
            .meta({ description: 'The keys that work now, newest first. A claim revokes them.' }),
          webhookHosts: z
            .array(z.string())
            .max(50)
            .meta({ description: 'Hosts that get its events, one for each webhook. A claim disables them.' }),
          allowedOrigins: z.array(z.string()).max(50).meta({
            description: 'Sites that may use it. A claim keeps them; PATCH /api/agents/me changes them.',
          }),
        }),
      )
      .max(10)
      .meta({
        description:
          'To an owner: agents that were registered by API with the confirmed address of this person and belong to no account.',
      }),
  }),
})
export const consoleToken = operation({
  summary: 'Get a console token of ten minutes for the API, as the live or the test agent of the account.',
  limit: 'console',
  showsSecret: true,
  errors: ['not_found', 'other_account'],
  body: z.object({ mode: z.enum(modes), accountId }),
  response: z.object({
    token: z.string().meta({ description: 'Send it as Authorization: Bearer. Keep it in memory only.' }),
    expiresAt: instant(),
    agentId: z.string(),
    mode: z.enum(modes),
    role,
  }),
})
export const switchAccount = operation({
  summary:
    'Change to another account of the person who is signed in. Bearers of the previous account stop working.',
  limit: 'console',
  errors: ['not_found'],
  body: z.object({ accountId: text(64) }),
  response: z.object({ accountId: z.string(), role }),
})
export const join = operation({
  summary: 'Accept an invitation to an account.',
  limit: 'console',
  errors: ['not_found'],
  body: z.object({ accountId: text(64) }),
  response: z.object({ accountId: z.string(), role }),
})
export const claim = operation({
  summary:
    'Take an agent that was registered by API with your confirmed address into the account, as its agent of that mode. Its keys are revoked and its webhooks disabled, unless you keep them.',
  limit: 'console',
  errors: ['not_found', 'forbidden', 'sign_in_again'],
  body: z.object({
    agentId: text(64),
    keepKeys: z.boolean().default(false).meta({
      description:
        'true keeps the keys and webhooks of whoever registered the agent. An agent that the account has already keeps them in any case.',
    }),
  }),
  response: z.object({
    agentId: z.string(),
    mode: z.enum(modes),
    revokedKeys: z.int().min(0),
    disabledWebhooks: z.int().min(0),
  }),
})

export const peopleList = operation({
  summary: 'List the people of the account, and the invitations that nobody accepted yet.',
  limit: 'console',
  response: z.object({
    people: z
      .array(
        z.object({
          id: z.string(),
          email: z.string(),
          role,
          joinedAt: instant(),
          lastSeenAt: instant().nullable(),
          isYou: z.boolean(),
        }),
      )
      .max(50),
    invitations: z
      .array(
        z.object({
          id: z.string(),
          email: z.string(),
          role,
          invitedBy: z.string(),
          createdAt: instant(),
          expiresAt: instant(),
        }),
      )
      .max(50),
  }),
})
export const peopleInvite = operation({
  summary: 'Invite a person to the account by mail. They sign in with this address and accept.',
  limit: 'console',
  errors: ['forbidden', 'other_account', 'sign_in_again', 'rate_limited'],
  body: z.object({ email: email(), role, accountId }),
  response: z.object({ id: z.string(), email: z.string(), role, expiresAt: instant() }),
})
export const peopleChange = operation({
  summary: 'Change the role of a person.',
  limit: 'console',
  errors: ['forbidden', 'not_found', 'other_account', 'sign_in_again'],
  params: z.object({ personId: text(64) }),
  body: z.object({ role, accountId }),
  response: z.object({ id: z.string(), role }),
})
export const peopleRemove = operation({
  summary: 'Remove a person from the account, or leave it. Their sessions and bearers end at once.',
  limit: 'console',
  errors: ['forbidden', 'not_found', 'other_account', 'sign_in_again'],
  params: z.object({ personId: text(64) }),
  query: z.object({ accountId }),
  response: z.object({ id: z.string(), removed: z.literal(true) }),
})
export const invitationRemove = operation({
  summary: 'Withdraw an invitation.',
  limit: 'console',
  errors: ['forbidden', 'not_found', 'other_account', 'sign_in_again'],
  params: z.object({ invitationId: text(64) }),
  query: z.object({ accountId }),
  response: z.object({ id: z.string(), removed: z.literal(true) }),
})

export const sessionsList = operation({
  summary: 'List the sessions in which you are signed in to the console.',
  limit: 'console',
  response: z.object({
    sessions: z
      .array(
        z.object({
          id: z.string(),
          browser: z.string().meta({ description: 'Browser and system, as the browser named itself.' }),
          signedInBy: z.enum(['link', 'passkey']),
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
  summary: 'End one of your sessions.',
  limit: 'console',
  errors: ['not_found'],
  params: z.object({ sessionId: text(64) }),
  response: z.object({ id: z.string(), ended: z.literal(true) }),
})

/** The JSON form of a browser's credential. */
const passkey = json(65_536)
const options = z.object({ publicKey: z.record(z.string(), z.unknown()) })

export const passkeysList = operation({
  summary: 'List your passkeys for the console.',
  limit: 'console',
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
  summary: 'Get the options to create a passkey for the console.',
  limit: 'console',
  errors: ['sign_in_again', 'forbidden'],
  response: options,
})
export const passkeyRegister = operation({
  summary: 'Add a passkey for the console.',
  limit: 'console',
  errors: ['passkey_refused', 'sign_in_again', 'forbidden'],
  body: z.object({ credential: passkey, name: displayName(60).optional() }),
  response: z.object({ id: z.string(), name: z.string() }),
})
export const passkeyRemove = operation({
  summary: 'Remove one of your passkeys. Other sessions that were signed in with a passkey end.',
  limit: 'console',
  errors: ['not_found', 'sign_in_again'],
  params: z.object({ passkeyId: text(64) }),
  response: z.object({ id: z.string(), removed: z.literal(true) }),
})
export const passkeySignInOptions = operation({
  summary: 'Get the options to sign in to the console with a passkey.',
  limit: 'tasks',
  errors: ['forbidden'],
  response: options,
})
export const passkeySignIn = operation({
  summary: 'Sign in to the console with a passkey.',
  limit: 'tasks',
  errors: ['forbidden', 'passkey_refused'],
  body: z.object({ credential: passkey }),
  response: signedIn,
})
