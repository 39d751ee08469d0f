import { inTransaction } from '../../platform/db/db.ts'
import type { BuyerDeps } from '../deps.ts'
import { rewardWarningsOf } from '../rules.ts'
import { listWorkflows } from './store.ts'

/** How an agent gets work done, with the addresses of this deployment. */
const howToBuy = (baseUrl: string) => ({
  autonomous: {
    method: 'GET',
    url: `${baseUrl}/api/agent/tasks/{workflowId}/buy`,
    auth: 'none',
    flow: 'Call without payment: 402 lists accepts[] and a purchase id. Sign an EIP-3009 authorization for one entry and send nothing on-chain. Call the same address again with X-PAYMENT and X-Purchase-Id. 200 is the credential and the answer; 202 means that the payment is on its way: ask again with the same payment and never sign a second.',
    verify: `${baseUrl}/.well-known/jwks.json`,
  },
  with_a_human: {
    method: 'POST',
    url: `${baseUrl}/api/agents/order`,
    note: `Needs an API key. Then POST ${baseUrl}/api/agents/order/fund gives the address of a card checkout, which a person completes.`,
  },
})

export const workflowsAvailable = async ({ ctx, forgingPriceUsd }: BuyerDeps) => {
  const stored = await inTransaction(ctx, 'system', listWorkflows)
  const workflows = stored.map((workflow) => ({
    ...workflow,
    warnings: rewardWarningsOf(forgingPriceUsd, workflow.rewardStars),
  }))
  return { workflows, count: workflows.length, how_to_buy: howToBuy(ctx.config.BASE_URL) }
}
