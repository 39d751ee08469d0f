import { z } from 'zod'
import { operation } from '../platform/endpoint.ts'
import { displayName, instant, queryInteger, reference, text } from '../platform/fields.ts'
import { nextPage, pageQuery } from '../platform/lists.ts'

export const campaignStates = ['active', 'paused', 'ended'] as const
export type CampaignState = (typeof campaignStates)[number]
const questionStates = ['open', 'agreed', 'disagreed'] as const

const count = z.int().min(0)
const option = displayName(100)
const question = z
  .object({
    prompt: displayName(500),
    options: z.array(option).min(2).max(10),
    answer: option.optional().meta({
      description: 'The known answer. Such a question is shown to check the visitor, and never settled.',
    }),
  })
  .refine(({ options }) => new Set(options).size === options.length, 'has an option twice')
  .refine(
    ({ options, answer }) => answer === undefined || options.includes(answer),
    'has an answer that is no option',
  )

export const campaign = z.object({
  campaignId: z.string(),
  name: z.string(),
  status: z.enum(campaignStates),
  exhausted: z.boolean().meta({ description: 'Paused because the budget is used up.' }),
  rewardStars: count,
  agreement: count.meta({ description: 'How many people must give the same answer.' }),
  budgetStars: count.meta({ description: 'Funded in all.' }),
  heldStars: count.meta({ description: 'For answers that wait for agreement.' }),
  remainingStars: count,
  questions: z.object({
    total: count,
    knownAnswers: count,
    open: count,
    agreed: count,
    disagreed: count,
  }),
  answers: count.meta({ description: 'Answers with attention, to open questions and known-answer items.' }),
  rightAnswers: count.meta({ description: 'Of these, how many agreed or matched the known answer.' }),
  createdAt: instant(),
  changedAt: instant(),
})

export const campaignCreate = operation({
  summary: 'Create a campaign of micro-tasks and fund its budget.',
  errors: ['email_not_confirmed', 'conversion_limit_reached', 'campaign_limit_reached'],
  body: z.object({
    name: displayName(200),
    questions: z.array(question).min(1).max(500),
    rewardStars: z.int().min(0).max(100).default(0),
    agreement: z.int().min(2).max(5).default(3),
    budgetStars: z.int().min(0).max(1_000_000).default(0),
  }),
  response: campaign,
})
export const campaignList = operation({
  summary: 'List the campaigns of this agent, newest first.',
  query: z.object(pageQuery),
  response: z.object({ campaigns: z.array(campaign), ...nextPage }),
})
const campaignParams = z.object({ campaignId: text(64) })
export const campaignRead = operation({
  summary: 'Read a campaign with its questions and their answers.',
  errors: ['not_found'],
  params: campaignParams,
  query: z.object({
    after: queryInteger(0, 500).optional().meta({ description: 'Questions after this number.' }),
    limit: queryInteger(1, 100).optional(),
  }),
  response: campaign.extend({
    results: z.array(
      z.object({
        n: z.int(),
        prompt: z.string(),
        options: z.array(z.string()),
        knownAnswer: z.string().nullable(),
        state: z.enum(questionStates),
        answer: z.string().nullable().meta({ description: 'The answer on which people agreed.' }),
        counts: z.array(count).meta({
          description: 'Answers for each option: at most 1,000 for a question, of the last 180 days.',
        }),
      }),
    ),
    nextAfter: z.int().nullable(),
  }),
})
export const campaignUpdate = operation({
  summary: 'Pause, resume or end a campaign. The end returns the unspent budget.',
  errors: ['not_found', 'campaign_ended'],
  params: campaignParams,
  body: z.object({ status: z.enum(campaignStates) }),
  response: campaign,
})

export const visitorToken = operation({
  summary: 'Make a token that names a member of yours as the visitor who answers micro-tasks.',
  errors: ['not_found', 'member_not_enrolled'],
  body: z.object({ memberId: reference(128) }),
  response: z.object({ visitor: z.string(), expiresAt: instant() }),
  showsSecret: true,
})
