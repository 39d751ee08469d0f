import { fundStars } from '../../partners/index.ts'
import type { Agent, StoreResult } from '../../platform/http/call.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { budgetAccountOf } from '../rules.ts'
import { presentCampaign } from './present.ts'
import { countOpenCampaigns, findCampaign, insertCampaign } from './store.ts'

export type CampaignDeps = {
  readonly ctx: Ctx
  /** Injected by the wiring: the agents module knows it. */
  readonly isEmailConfirmed: (tx: Tx, agentId: string) => Promise<boolean>
}
type NewCampaign = {
  readonly name: string
  readonly questions: readonly {
    readonly prompt: string
    readonly options: readonly string[]
    readonly answer?: string | undefined
  }[]
  readonly rewardStars: number
  readonly agreement: number
  readonly budgetStars: number
}

/** As many as one request for a task looks through. */
const openCampaignsMax = 20

/** Creates a campaign. Its budget is Stars that the agent owes, within the limit that an operator granted. */
export const create = async (
  { ctx, isEmailConfirmed }: CampaignDeps,
  agent: Agent,
  input: NewCampaign,
  storeResult: StoreResult,
) =>
  inTransaction(ctx, agent.agentId, async (tx) => {
    const { agentId, mode } = agent
    if ((await countOpenCampaigns(tx, agent, openCampaignsMax)) >= openCampaignsMax)
      throw new Refusal('campaign_limit_reached')
    const key = { agentId, mode, campaignId: ctx.ids.make('cpg_') }
    const budgetStars = BigInt(input.budgetStars)
    if (budgetStars > 0n) {
      if (mode === 'live' && !(await isEmailConfirmed(tx, agentId))) throw new Refusal('email_not_confirmed')
      const account = budgetAccountOf(key.campaignId)
      await fundStars(tx, { agentId, mode, account, stars: budgetStars, reference: key.campaignId })
    }
    await insertCampaign(tx, { ...key, ...input, budgetStars }, input.questions)
    const campaign = await findCampaign(tx, key)
    if (!campaign) throw new Error(`campaign ${key.campaignId} not found after it was inserted`)
    return storeResult(tx, await presentCampaign(tx, campaign))
  })
