import { inTransaction, readNow } from '../platform/db/db.ts'
import type { Agent, StoreResult } from '../platform/http/call.ts'
import { Refusal } from '../platform/http/errors.ts'
import { claimSimulated, deliverSimulated, placeUnitOrder, usdCentsOf, usdOf } from '../work/index.ts'
import { simulatedAnswerOf } from './answer-schema.ts'
import type { PayDeps } from './deps.ts'
import { requireAskWorkflow } from './offer.ts'
import { requireChain } from './pay.ts'
import { findQuestion } from './read.ts'
import { checkQuestion, type QuestionInput } from './rules.ts'

type Input = QuestionInput & {
  readonly budgetUsd: number
  readonly simulate?: boolean | undefined
  readonly payWith?: 'x402' | undefined
}

const simulateRefusal = (code: string, message: string) =>
  new Refusal('validation_failed', { details: [{ path: 'body.simulate', code, message }] })
const refuseSimulate = ({ mode }: Agent, { simulate, payWith }: Input): void => {
  if (simulate !== true) return
  if (mode === 'live') throw simulateRefusal('test_only', 'needs a test key')
  if (payWith !== undefined)
    throw simulateRefusal('simulate_unpaid', 'cannot answer a question before it is paid')
}

/** Everything that is checked before an order exists, in one transaction. */
const prepare = (deps: PayDeps, agent: Agent, input: Input) =>
  inTransaction(deps.ctx, 'system', async (tx) => {
    const paidByPurchase = input.payWith === 'x402'
    refuseSimulate(agent, input)
    if (paidByPurchase) requireChain(deps, agent)
    const checked = checkQuestion(input, await readNow(tx))
    const workflow = await requireAskWorkflow(tx)
    const capUsdCents = usdCentsOf(input.budgetUsd)
    if (workflow.priceUsdCents > capUsdCents)
      throw new Refusal('price_above_max', {
        message: `A question costs ${usdOf(workflow.priceUsdCents)} USD, and budgetUsd is ${input.budgetUsd}.`,
      })
    return { ...checked, workflow, capUsdCents, paidByPurchase, item: { question: input.question } }
  })

/** Asks a question: an order of one unit, created and funded in one call. */
export const ask = async (deps: PayDeps, agent: Agent, input: Input, storeResult: StoreResult) => {
  const request = await prepare(deps, agent, input)
  const { question, claim } = await placeUnitOrder(deps, agent, request, async (tx, key) => {
    const simulated = input.simulate === true ? await claimSimulated(tx, deps, key) : undefined
    const found = await findQuestion(tx, deps, key)
    if (!found) throw new Error(`question ${key.orderId} not found after it was asked`)
    return { question: await storeResult(tx, found), claim: simulated }
  })
  if (claim) await deliverSimulated(deps, claim, simulatedAnswerOf(request.answerForm))
  return question
}
