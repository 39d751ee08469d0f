import { z } from 'zod'
import { assurances } from '../credentials/operations.ts'
import { operation } from '../platform/endpoint.ts'
import { instant, json, queryInstant, reference, text } from '../platform/fields.ts'
import { modes } from '../platform/ids.ts'
import { nextPage, pageQuery } from '../platform/lists.ts'

/**
 * pending: waits for decisions. approved: enough people approved it; it can be consumed from consumableAt to consumeBy. denied: one
 * person denied it. expired: the time to decide or to consume is over. consumed: it was used.
 */
export const approvalStates = ['pending', 'approved', 'denied', 'expired', 'consumed'] as const
export type ApprovalState = (typeof approvalStates)[number]
export const approvalDecisions = ['approve', 'deny'] as const
/** How an approver was enrolled: by an owner at the console, by a mailed link, or by the sign-in of a company. */
export const approverWays = ['in_console', 'mail_link', 'organization'] as const
export type ApproverWay = (typeof approverWays)[number]
export const approvalPasskeys = ['any', 'device_bound'] as const

export const approversMax = 10
/** People who decide in the sandbox without a page: the first approves, the second denies, the third says nothing. */
export const simulatedApprovers = ['apv_test_approves', 'apv_test_denies', 'apv_test_silent'] as const

/** Of actions: lower case words with dots, such as `invoice.pay`. */
export const actionTypeName = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,30}(\.[a-z][a-z0-9_]{0,30}){0,4}$/, 'must be lower case words with dots')
export const approvalId = text(64)
const hash = z.string().regex(/^[A-Za-z0-9_-]{43}$/)

export const approvalPolicy = z.strictObject({
  quorum: z.int().min(1).max(approversMax).meta({ description: 'How many different people must approve.' }),
  minSeconds: z
    .int()
    .min(0)
    .max(600)
    .meta({ description: 'How long the page must be in view before an approval.' }),
  passkey: z.enum(approvalPasskeys).meta({
    description: 'device_bound: the passkey must be in hardware that does not copy it.',
  }),
  delaySeconds: z.int().min(0).max(86_400).meta({
    description:
      'How long an approved action waits before it can be consumed. In this time a denial still ends it.',
  }),
})
/** For actions whose type no administrator registered. */
export const strictestPolicy = {
  quorum: 2,
  minSeconds: 15,
  passkey: 'device_bound',
  delaySeconds: 300,
} as const

/** In the sandbox, types of this prefix need no administrator: one simulated approver decides, and nothing waits. */
export const sandboxTypePrefix = 'test.'
export const sandboxPolicy = { quorum: 1, minSeconds: 0, passkey: 'any', delaySeconds: 0 } as const

export const envelope = z.object({
  audience: z.string(),
  requestId: z.string(),
  salt: z.string(),
  type: z.string(),
  typeVersion: z.int().min(0),
  action: z.record(z.string(), z.unknown()),
  approvers: z.array(z.string()).min(1).max(approversMax),
  policy: approvalPolicy,
  decideBy: instant(),
  consumeBy: instant(),
  words: z.object({ title: z.string(), summary: z.string() }),
})

/** How an action type is shown. The requester has no part in it. */
export const actionTypeView = z.object({
  type: z.string(),
  version: z.int().min(1),
  title: z.string(),
  labels: z.record(z.string(), z.string()),
  critical: z.array(z.string()).max(20),
})

export const decision = z.object({
  approver: z.string(),
  name: z.string(),
  decision: z.enum(approvalDecisions),
  words: z.string().nullable().meta({ description: 'The reason that the person gave with a denial.' }),
  decidedAt: instant(),
  credentialId: z.string().nullable().meta({ description: 'Null where a person denied without attention.' }),
  pohf_jwt: z.string().nullable(),
})

export const approval = z.object({
  approvalId: z.string(),
  mode: z.enum(modes),
  status: z.enum(approvalStates),
  envelope,
  envelopeHash: hash,
  definition: actionTypeView.nullable().meta({
    description:
      'How the action was shown; null where its type is not registered. With it everybody can compute view hashes.',
  }),
  decisions: z.array(decision).max(approversMax),
  createdAt: instant(),
  decidedAt: instant().nullable().meta({ description: 'When the last decision was made that it needed.' }),
  consumableAt: instant().nullable(),
  consumedAt: instant().nullable(),
})
export type Approval = z.output<typeof approval>

/** Checked by rules of approvals, each of which has a name; the limit of the body bounds what they read. */
export const approvedAction = z.unknown()

export const create = operation({
  summary: 'Ask people of yours to approve an action, exactly as it is.',
  errors: ['approval_conflict', 'approval_refused', 'insufficient_credits', 'account_in_debt'],
  bodyLimitBytes: 65_536,
  exactJson: true,
  body: z.object({
    type: actionTypeName,
    action: approvedAction.meta({
      description:
        'A JSON object of at most 32 KB and 8 levels. Numbers are whole; amounts are strings. A key that appears twice, a number that JSON.parse would round and a character that can be mistaken are refused.',
    }),
    requestId: reference(128).meta({
      description: 'Your reference. The same reference with the same action returns the same approval.',
    }),
    audience: text(64)
      .optional()
      .meta({ description: 'The agent that executes and whose key consumes. Your own, if it is left out.' }),
    approvers: z.array(text(64)).min(1).max(approversMax).optional(),
    group: reference(64).optional().meta({ description: 'A group of approvers, in place of approvers.' }),
    policy: approvalPolicy.partial().optional().meta({
      description: 'Raises the policy of the action type. A lower value is refused.',
    }),
    decideBy: z.iso
      .datetime({ offset: true })
      .optional()
      .meta({ description: 'In an hour, if it is left out.' }),
    consumeBy: z.iso
      .datetime({ offset: true })
      .optional()
      .meta({ description: 'An hour after decideBy and the delay, if it is left out.' }),
    title: text(200).optional().meta({ description: 'Your own words. They are shown last, and as yours.' }),
    summary: text(2_000).optional(),
  }),
  response: approval,
})
export const list = operation({
  summary: 'List your approvals, newest first.',
  query: z.object({
    status: z.enum(approvalStates).optional(),
    type: actionTypeName.optional(),
    from: queryInstant().optional(),
    to: queryInstant().optional(),
    ...pageQuery,
  }),
  response: z.object({
    approvals: z
      .array(
        approval
          .pick({
            approvalId: true,
            mode: true,
            status: true,
            createdAt: true,
            decidedAt: true,
            consumedAt: true,
          })
          .extend({
            type: z.string(),
            requestId: z.string(),
            audience: z.string(),
            decideBy: instant(),
            approved: z.int().min(0),
            quorum: z.int().min(1),
          }),
      )
      .max(100),
    ...nextPage,
  }),
})
export const read = operation({
  summary: 'Read an approval with its decisions, as the agent that asked or the audience.',
  errors: ['not_found'],
  params: z.object({ approvalId }),
  response: approval,
})
export const consume = operation({
  summary: 'Use an approval, once, as its audience. Do this before you act.',
  errors: ['not_found', 'approval_conflict'],
  params: z.object({ approvalId }),
  body: z.object({
    envelopeHash: hash.meta({ description: 'Of the envelope that you verified. Another one is refused.' }),
  }),
  response: approval,
})

// For the person who decides.

const approverEntry = z.object({
  approver: z.string(),
  name: z.string(),
  decision: z.enum(approvalDecisions).nullable(),
})
export const waiting = z.object({
  approvalId: z.string(),
  mode: z.enum(modes),
  status: z.enum(approvalStates),
  agentName: z.string(),
  title: z.string().nullable(),
  type: z.string(),
  createdAt: instant(),
  decideBy: instant(),
  ownDecision: z.enum(approvalDecisions).nullable(),
})
export const approverList = operation({
  summary: 'List what waits for the decision of the person who is signed in, and what they decided.',
  limit: 'tasks',
  response: z.object({
    waiting: z
      .array(waiting)
      .max(50)
      .meta({ description: 'The nearest deadline first, at most 10 of an agent.' }),
    hasMore: z
      .boolean()
      .meta({ description: 'More wait than are listed. They follow as these are decided.' }),
    decided: z.array(waiting).max(50),
  }),
})
export const approverRead = operation({
  summary: 'Read one approval that the person who is signed in may decide.',
  limit: 'tasks',
  errors: ['not_found'],
  params: z.object({ approvalId }),
  response: waiting.extend({
    envelope,
    envelopeHash: hash,
    definition: actionTypeView.nullable(),
    /** The approver id of the person who is signed in. */
    approver: z.string(),
    approvers: z.array(approverEntry).max(approversMax),
    site: z.string().meta({ description: 'The site of the recording.' }),
    challenge: z.string().meta({ description: 'The challenge that the recording must carry.' }),
    newValues: z.array(z.string()).max(20).meta({
      description: 'Pointers of critical fields with a value that this person has not approved before.',
    }),
    slowDown: z
      .boolean()
      .meta({ description: 'The last decisions of this person were faster than reading.' }),
    retryAt: instant()
      .nullable()
      .meta({ description: 'Set while the person has decided too often within an hour.' }),
    own: z
      .object({
        words: z.string().nullable(),
        decidedAt: instant(),
        credentialId: z.string().nullable(),
        assurance: z.enum(assurances).nullable(),
        inViewSeconds: z.int().min(0).nullable(),
      })
      .nullable(),
    consumableAt: instant().nullable(),
    company: z
      .object({
        issuer: z.string(),
        issuerId: z.string(),
        memberId: z.string(),
        state: z.enum(['valid', 'needed', 'withdrawn']),
        until: instant().nullable(),
        lifeHours: z.number(),
      })
      .nullable()
      .meta({ description: 'The company with which this person has to sign in before they decide.' }),
  }),
})
export const approverOptions = operation({
  summary: 'Get the WebAuthn options of a decision. Their challenge covers what was shown and decided.',
  limit: 'tasks',
  errors: [
    'not_found',
    'approval_conflict',
    'approval_refused',
    'session_not_ready',
    'session_expired',
    'session_rejected',
  ],
  params: z.object({ approvalId }),
  body: z.object({
    decision: z.enum(approvalDecisions),
    viewHash: hash,
    sessionId: text(64)
      .optional()
      .meta({ description: 'The finished recording. Required to approve; a denial works without one.' }),
  }),
  response: z.object({
    publicKey: z.record(z.string(), z.unknown()),
    nonce: z.string(),
    telemetryLink: z.string().meta({ description: 'Empty without a recording.' }),
    expiresAt: instant(),
  }),
})
export const approverDecide = operation({
  summary: 'Decide, with a fresh passkey assertion over the challenge.',
  limit: 'tasks',
  errors: [
    'not_found',
    'approval_conflict',
    'approval_refused',
    'passkey_refused',
    'insufficient_credits',
    'network_busy',
    'root_suspended',
    'account_in_debt',
  ],
  params: z.object({ approvalId }),
  body: z.object({
    nonce: text(128),
    credential: json(65_536),
    words: text(1_000).optional().meta({ description: 'With a denial: what the agent is told.' }),
  }),
  response: z.object({
    status: z.enum(approvalStates),
    decision: z.enum(approvalDecisions),
    credentialId: z.string().nullable(),
  }),
})
