import { z } from 'zod'
import { operation } from '../platform/endpoint.ts'
import { instant, queryInteger, text } from '../platform/fields.ts'
import { modes } from '../platform/ids.ts'

const listedAgent = {
  agentId: z.string(),
  name: z.string(),
  mode: z.string(),
  emailConfirmed: z.boolean(),
  suspended: z.boolean(),
  createdAt: instant(),
}

export const agentsList = operation({
  summary: 'List the agents, or find them by name, mail address or id.',
  query: z.object({
    search: text(200)
      .optional()
      .meta({ description: 'An agent id, a whole mail address, or the beginning of a name.' }),
    mode: z.enum(modes).optional(),
    state: z
      .enum(['suspended', 'unconfirmed'])
      .optional()
      .meta({ description: 'Only suspended agents, or only those without a confirmed mail address.' }),
    order: z
      .enum(['oldest', 'newest'])
      .optional()
      .meta({ description: 'Default: oldest. A search by name ignores it.' }),
    after: text(64, 0).optional().meta({ description: 'The id of an agent: nextCursor of the page before.' }),
    limit: queryInteger(1, 200).optional(),
  }),
  response: z.object({
    agents: z.array(z.object(listedAgent)),
    nextCursor: z.string().nullable().meta({
      description:
        'Send it as `after`. A page with a filter reads at most 500 agents, so it may be empty and have one.',
    }),
  }),
})

const appReference = z.object({ kind: z.enum(['app', 'rp_id']), name: z.string() })

export const agentRead = operation({
  summary: 'Read an agent, its balances and what operators granted it.',
  errors: ['not_found'],
  params: z.object({ agentId: text(64) }),
  response: z.object({
    ...listedAgent,
    mode: z.enum(modes),
    contactEmail: z.string(),
    suspendedAt: instant().nullable(),
    credits: z.int().min(0),
    limitStars: z.int().min(0).nullable().meta({
      description: 'The Stars that the partner may still convert; null in test mode, which has no limit.',
    }),
    networkFactor: z
      .int()
      .nullable()
      .meta({ description: 'The factor of its own network budget; null where it shares the usual one.' }),
    declaredApps: z
      .array(appReference)
      .max(100)
      .meta({ description: 'Apps and relying parties that the agent named in its settings.' }),
    admittedApps: z.array(appReference).max(100),
  }),
})
