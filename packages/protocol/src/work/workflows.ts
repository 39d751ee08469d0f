import { z } from 'zod'
import { operation } from '../platform/endpoint.ts'
import { usd } from '../platform/fields.ts'
import { answerForm, inputForm } from './forms.ts'
import { workWarnings } from './warnings.ts'

const workflow = z.object({
  id: z.string(),
  title: z.string(),
  description: z.string(),
  steps: z.array(z.string()),
  estMinutes: z.number(),
  rewardStars: z.number(),
  webcamBonus: z.number(),
  datasetOptin: z.boolean(),
  category: z.string(),
  priceUsd: usd(),
  /** The forms of an item and of its answer. Without a form, any JSON. */
  inputForm,
  answerForm,
})
export type Workflow = z.infer<typeof workflow>
const workflowWithWarnings = workflow.extend({ warnings: workWarnings })
export type WorkflowWithWarnings = z.infer<typeof workflowWithWarnings>
export const workflowsAvailable = operation({
  summary: 'List the work that can be commissioned.',
  cors: 'any',
  response: z.object({
    workflows: z.array(workflowWithWarnings).max(1_000),
    count: z.int(),
    how_to_buy: z.object({
      autonomous: z.object({
        method: z.string(),
        url: z.string(),
        auth: z.string(),
        flow: z.string(),
        verify: z.string(),
      }),
      with_a_human: z.object({ method: z.string(), url: z.string(), note: z.string() }),
    }),
  }),
})
