import type { Agent } from '../../platform/http/call.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { readPage, type PageQuery } from '../../platform/http/list-page.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { presentCampaigns } from './present.ts'
import { listCampaigns } from './store.ts'

/** The campaigns of an agent, newest first. */
export const list = async (ctx: Ctx, agent: Agent, query: PageQuery) =>
  inTransaction(ctx, agent.agentId, async (tx) => {
    const { page, ...next } = await readPage(
      ctx,
      { name: 'campaigns', agent, query },
      {
        scan: async (scan) =>
          (await listCampaigns(tx, agent.mode, scan)).map((campaign) => ({
            ...campaign,
            at: campaign.createdAt,
            id: campaign.campaignId,
          })),
        isListed: undefined,
      },
    )
    return { campaigns: await presentCampaigns(tx, page), ...next }
  })
