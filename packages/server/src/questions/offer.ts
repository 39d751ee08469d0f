import { askWorkflowId, type Mode } from '@pohf/protocol'
import type { Tx } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { findAnswerTime, findWorkflow, rewardWarningsOf, type BuyerDeps } from '../work/index.ts'

/** The workflow of questions; refuses where the operator does not offer it. */
export const requireAskWorkflow = async (tx: Tx) => {
  const workflow = await findWorkflow(tx, askWorkflowId)
  if (!workflow?.active)
    throw new Refusal('out_of_stock', {
      message: `This service answers no questions: its operator does not offer ${askWorkflowId}.`,
    })
  return workflow
}

/** What a question costs and how long the last ones took. The units of other agents are counted, and nothing else of them. */
export const readOffer = async (
  tx: Tx,
  { forgingPriceUsd }: Pick<BuyerDeps, 'forgingPriceUsd'>,
  mode: Mode,
) => {
  const { id, priceUsd, rewardStars } = await requireAskWorkflow(tx)
  return {
    workflowId: id,
    priceUsd,
    ...(await findAnswerTime(tx, mode, id)),
    warnings: rewardWarningsOf(forgingPriceUsd, rewardStars),
  }
}
export type Offer = Awaited<ReturnType<typeof readOffer>>
