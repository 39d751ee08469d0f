import { z } from 'zod'
import { assurances } from '../credentials/operations.ts'
import { usd } from '../platform/fields.ts'

/** What a buyer should know before paying. It refuses nothing. */
export const workWarning = z.object({
  code: z.enum(['reward_above_forging_price']),
  message: z.string(),
  rewardUsd: usd().meta({ description: 'The reward of one unit.' }),
  forgingPriceUsd: usd().meta({
    description: 'What one forged work credential costs, by the published price table.',
  }),
  root: z.string().meta({ description: 'The root that every worker has shown at least.' }),
  assurance: z.enum(assurances).meta({ description: 'The assurance that every worker reaches at least.' }),
})
export type WorkWarning = z.output<typeof workWarning>
export const workWarnings = z.array(workWarning).max(8)
