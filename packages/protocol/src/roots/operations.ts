import { z } from 'zod'
import { rootKinds } from '../credentials/operations.ts'
import { operation } from '../platform/endpoint.ts'
import { instant, queryInteger, text } from '../platform/fields.ts'

/** Every root but a network can be suspended by its name. */
const shownRootKinds = rootKinds.filter((kind) => kind !== 'network')

export const operatorBudget = operation({
  summary: 'Give a site a budget of its own in every network, or take it back.',
  errors: ['not_found'],
  params: z.object({ agentId: text(64) }),
  body: z.object({
    factor: z.int().min(1).max(1_000).nullable().meta({
      description: 'How many times the usual budget. Null: the site shares the usual one with all others.',
    }),
    reason: text(500),
  }),
  response: z.object({ agentId: z.string(), factor: z.int().nullable() }),
})

const name = text(200).meta({
  description:
    'AAGUID of an authenticator model, id of an app, name of an issuer; or of a network its address, IPv4 /24, IPv6 /64 or /48.',
})
const suspendedRoot = { kind: z.string(), name: z.string() }

const listPage = z.object({
  after: text(300).optional().meta({ description: '`nextCursor` of the page before.' }),
  limit: queryInteger(1, 200).optional(),
})
const nextCursor = z.string().nullable().meta({ description: 'Send it as `after`.' })

export const operatorSuspended = operation({
  summary: 'List the suspended models, apps and issuers.',
  query: listPage,
  response: z.object({
    suspended: z
      .array(
        z.object({
          ...suspendedRoot,
          suspendedAt: instant(),
          from: instant()
            .nullable()
            .meta({ description: 'What was checked before stays. Null: nothing rests on it.' }),
          reason: z.string(),
        }),
      )
      .max(200),
    nextCursor,
  }),
})

export const operatorSites = operation({
  summary: 'List the sites that have a network budget of their own.',
  query: listPage,
  response: z.object({
    sites: z.array(z.object({ agentId: z.string(), factor: z.int(), changedAt: instant() })).max(200),
    nextCursor,
  }),
})

export const operatorSuspend = operation({
  summary:
    'Suspend a model, app or issuer, and suspend or revoke the credentials that rest on it or on a network.',
  // The name of a network is an address, which is never stored in clear.
  showsSecret: true,
  errors: [],
  body: z.object({
    kind: z.enum(rootKinds),
    name,
    credentials: z.enum(['keep', 'suspend', 'revoke']).meta({
      description: 'What becomes of the credentials that rest on it, 100 for each call.',
    }),
    from: z.iso.datetime({ offset: true }).optional().meta({
      description:
        'For an issuer: proofs that it checked before this time stay, and so do credentials of before. Without it, nothing rests on the root.',
    }),
    after: text(128)
      .optional()
      .meta({ description: '`next` of the last answer, for the credentials that follow.' }),
    reason: text(500),
  }),
  response: z.object({
    ...suspendedRoot,
    credentials: z.int().min(0).meta({ description: 'The credentials of this call.' }),
    next: z.string().nullable().meta({ description: 'Send it as `after`; null where none follow.' }),
  }),
})

export const operatorReinstate = operation({
  summary: 'Lift the suspension of a model, app or issuer. Its credentials stay as they are.',
  errors: ['not_found'],
  body: z.object({ kind: z.enum(shownRootKinds), name, reason: text(500) }),
  response: z.object(suspendedRoot),
})
