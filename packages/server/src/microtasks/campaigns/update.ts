import type { CampaignState } from '@pohf/protocol'
import { balanceOf } from '../../ledger/index.ts'
import { returnStars } from '../../partners/index.ts'
import type { Agent } from '../../platform/http/call.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { budgetAccountOf } from '../rules.ts'
import type { CampaignKey } from '../store.ts'
import { presentCampaign } from './present.ts'
import { findCampaign, lockCampaign, updateCampaignStatus } from './store.ts'

/**
 * Returns the unspent budget to the agent's limit. Stars that are held for waiting answers stay held until each answer ends.
 */
const returnBudget = async (tx: Tx, key: CampaignKey): Promise<void> => {
  const { agentId, mode, campaignId } = key
  const account = budgetAccountOf(campaignId)
  const stars = await balanceOf(tx, { agentId, mode, account, unit: 'star' })
  if (stars > 0n) await returnStars(tx, { agentId, mode, account, stars, reference: campaignId })
}

/** Pauses, resumes or ends a campaign. */
export const update = async (ctx: Ctx, agent: Agent, campaignId: string, status: CampaignState) =>
  inTransaction(ctx, agent.agentId, async (tx) => {
    const key = { agentId: agent.agentId, mode: agent.mode, campaignId }
    const before = await lockCampaign(tx, key)
    if (before === undefined) throw new Refusal('not_found')
    if (before === 'ended' && status !== 'ended') throw new Refusal('campaign_ended')
    if (before !== status) {
      if (status === 'ended') await returnBudget(tx, key)
      await updateCampaignStatus(tx, key, status)
    }
    const campaign = await findCampaign(tx, key)
    if (!campaign) throw new Refusal('not_found')
    return presentCampaign(tx, campaign)
  })
