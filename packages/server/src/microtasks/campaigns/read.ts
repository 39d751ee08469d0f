import type { Agent } from '../../platform/http/call.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { presentCampaign } from './present.ts'
import { findCampaign, listQuestions } from './store.ts'

type Page = { readonly after?: number | undefined; readonly limit?: number | undefined }

/** A campaign with a page of its questions. */
export const read = async (
  ctx: Ctx,
  { agentId, mode }: Agent,
  campaignId: string,
  { after = 0, limit = 50 }: Page,
) =>
  inTransaction(ctx, agentId, async (tx) => {
    const key = { agentId, mode, campaignId }
    const campaign = await findCampaign(tx, key)
    if (!campaign) throw new Refusal('not_found')
    const found = await listQuestions(tx, key, { after, limit: limit + 1 })
    const page = found.slice(0, limit)
    return {
      ...(await presentCampaign(tx, campaign)),
      results: page.map(({ n, prompt, options, knownAnswer, state, agreedAnswer, given }) => ({
        n,
        prompt,
        options: [...options],
        knownAnswer,
        state,
        answer: agreedAnswer,
        counts: options.map((option) => given[option] ?? 0),
      })),
      nextAfter: found.length > limit ? (page.at(-1)?.n ?? null) : null,
    }
  })
