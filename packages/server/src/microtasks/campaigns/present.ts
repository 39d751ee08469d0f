import { balancesOf } from '../../ledger/index.ts'
import type { Tx } from '../../platform/db/db.ts'
import { budgetAccountOf, heldAccountOf } from '../rules.ts'
import type { Campaign } from './store.ts'

/** Campaigns of one agent as it sees them, with their budgets from the ledger. */
export const presentCampaigns = async (tx: Tx, campaigns: readonly Campaign[]) => {
  const [first] = campaigns
  if (!first) return []
  const { agentId, mode } = first
  const accounts = campaigns.flatMap(({ campaignId }) => [
    budgetAccountOf(campaignId),
    heldAccountOf(campaignId),
  ])
  const balances = await balancesOf(tx, { agentId, mode, unit: 'star' }, accounts)
  const starsIn = (account: string) => Number(balances.get(account) ?? 0n)
  return campaigns.map(({ campaignId, counts, ...campaign }) => ({
    campaignId,
    name: campaign.name,
    status: campaign.status,
    exhausted: campaign.exhausted,
    rewardStars: campaign.rewardStars,
    agreement: campaign.agreement,
    budgetStars: Number(campaign.budgetStars),
    heldStars: starsIn(heldAccountOf(campaignId)),
    remainingStars: starsIn(budgetAccountOf(campaignId)),
    questions: {
      total: counts.total,
      knownAnswers: counts.known,
      open: counts.open,
      agreed: counts.agreed,
      disagreed: counts.disagreed,
    },
    answers: counts.answers,
    rightAnswers: counts.right,
    createdAt: campaign.createdAt.toISOString(),
    changedAt: campaign.changedAt.toISOString(),
  }))
}

export const presentCampaign = async (tx: Tx, campaign: Campaign) => {
  const [presented] = await presentCampaigns(tx, [campaign])
  if (!presented) throw new Error(`campaign ${campaign.campaignId} was not presented`)
  return presented
}
