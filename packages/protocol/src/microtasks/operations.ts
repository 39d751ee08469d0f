import { z } from 'zod'
import { operation } from '../platform/endpoint.ts'
import { instant, json, text } from '../platform/fields.ts'

const microTask = z.object({
  id: z.string(),
  kind: z.string(),
  prompt: z.string(),
  options: z.array(z.string()).max(10).optional(),
  media: z.array(z.url()).max(4).optional(),
  estSeconds: z.number(),
  rewardStars: z.number(),
  token: z.string(),
  expiresAt: instant(),
  campaignId: z.string().optional(),
})
export const tasksNext = operation({
  summary: 'Get the next micro-task of a site.',
  cors: 'echo',
  limit: 'tasks',
  query: z.object({
    site: z.string().max(200).optional(),
    visitor: z.string().max(1_000).optional().meta({
      description: 'The token of a member who is signed in on the site. Another text is ignored.',
    }),
    words: z
      .enum(['0', '1'])
      .optional()
      .meta({ description: '1 for a question in words, without a picture.' }),
    lang: z.string().max(35).optional().meta({ description: 'de for German; otherwise English.' }),
  }),
  response: z.object({ task: microTask }),
})
export const tasksComplete = operation({
  summary: 'Complete a micro-task.',
  errors: ['task_token_used'],
  cors: 'echo',
  limit: 'tasks',
  bodyLimitBytes: 524_288,
  body: z.object({
    token: z.string().max(2_048).optional(),
    site: z.string().max(200).optional().meta({
      description: 'The agent whose page sends this. A token of another site is refused.',
    }),
    answer: json(16_384).optional(),
    sessionId: z.string().max(128).optional(),
    memberRef: text(256, 0).optional(),
  }),
  response: z.object({
    ok: z.literal(true),
    completionId: z.string().optional(),
    sessionId: z.string().optional(),
    verified: z.boolean(),
    rewardStars: z.number(),
    reason: z.string().optional(),
  }),
})
