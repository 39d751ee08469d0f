import { InsufficientBalance, post, type Line } from '../ledger/index.ts'
import { conversionLines, userAccountOf } from '../partners/index.ts'
import type { Tx } from '../platform/db/db.ts'
import { publish } from '../platform/queue/outbox.ts'
import { budgetAccountOf, heldAccountOf, starLines } from './rules.ts'
import { updateCampaignExhausted, type CampaignKey } from './store.ts'

/** The Stars of one completion. */
export type Reward = CampaignKey & { readonly completionId: string; readonly stars: number }

const postFor = (tx: Tx, { agentId, mode, completionId }: Reward, kind: string, lines: readonly Line[]) =>
  post(tx, { agentId, mode, kind, reference: completionId, lines })

/** Moves Stars out of the budget; where it has too few, the campaign is paused and nothing moves. */
const takeFromBudget = async (tx: Tx, reward: Reward, kind: string, to: string): Promise<number> => {
  if (reward.stars === 0) return 0
  try {
    await postFor(tx, reward, kind, starLines(budgetAccountOf(reward.campaignId), to, reward.stars))
    return reward.stars
  } catch (error) {
    if (!(error instanceof InsufficientBalance)) throw error
    const { agentId, mode, campaignId } = reward
    if (await updateCampaignExhausted(tx, reward))
      await publish(tx, {
        agentId,
        mode,
        type: 'task.campaign_exhausted',
        subject: campaignId,
        data: { campaignId },
      })
    return 0
  }
}

/** Pays a member at once. Returns what was paid. */
export const payReward = (tx: Tx, reward: Reward, memberId: string): Promise<number> =>
  takeFromBudget(tx, reward, 'task_reward', userAccountOf(reward.agentId, memberId))

/** Sets Stars aside for an answer that waits. Returns what is held. */
export const holdReward = (tx: Tx, reward: Reward): Promise<number> =>
  takeFromBudget(tx, reward, 'task_hold', heldAccountOf(reward.campaignId))

/** Pays what was held. */
export const payHeldReward = async (tx: Tx, reward: Reward, memberId: string): Promise<void> => {
  if (reward.stars === 0) return
  const to = userAccountOf(reward.agentId, memberId)
  await postFor(tx, reward, 'task_reward', starLines(heldAccountOf(reward.campaignId), to, reward.stars))
}

/** What was held goes back to the budget, or to the limit of the agent where the campaign has ended. */
export const releaseReward = async (tx: Tx, reward: Reward, hasEnded: boolean): Promise<void> => {
  const { mode, campaignId, stars } = reward
  if (stars === 0) return
  const held = heldAccountOf(campaignId)
  const lines = hasEnded
    ? conversionLines(mode, held, -BigInt(stars))
    : starLines(held, budgetAccountOf(campaignId), stars)
  await postFor(tx, reward, 'task_released', lines)
}
