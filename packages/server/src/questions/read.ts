import type { Mode } from '@pohf/protocol'
import { inTransaction, readNow, type Tx } from '../platform/db/db.ts'
import type { Agent } from '../platform/http/call.ts'
import { Refusal } from '../platform/http/errors.ts'
import { findAnswerTime, findUnitOrder, presentReview, usdOf } from '../work/index.ts'
import { answerBySchema } from './answer-schema.ts'
import type { QuestionDeps } from './deps.ts'
import { questionStateOf } from './rules.ts'

type QuestionKey = { readonly agentId: string; readonly mode: Mode; readonly orderId: string }
type UnitOrder = NonNullable<Awaited<ReturnType<typeof findUnitOrder>>>

const presentAnswer = ({ order, unit }: UnitOrder) => ({
  answer: unit ? answerBySchema(order.terms?.answerForm ?? [], unit.answer) : null,
  credential: unit?.credential ?? null,
  sessionId: unit?.sessionId ?? null,
  quality: unit?.quality ?? null,
  answeredAt: unit?.deliveredAt ?? null,
  reviewUntil: unit?.reviewUntil ?? null,
})

/** A question as its buyer sees it; undefined where the order is none. */
export const findQuestion = async (
  tx: Tx,
  { findTokens }: Pick<QuestionDeps, 'findTokens'>,
  key: QuestionKey,
) => {
  const found = await findUnitOrder(tx, findTokens, key)
  if (!found) return undefined
  const { order, answerBy, input, unit, isCancelledEarly } = found
  const isLate = answerBy <= (await readNow(tx))
  const status = questionStateOf({ order: order.status, unit: unit?.status, isLate, isCancelledEarly })
  return {
    questionId: order.orderId,
    status,
    question: (input as { readonly question: string }).question,
    priceUsd: usdOf(order.totalUsdCents),
    checkoutUrl: status === 'unpaid' ? (order.checkout?.checkoutUrl ?? null) : null,
    deadline: answerBy.toISOString(),
    createdAt: order.createdAt.toISOString(),
    ...(await findAnswerTime(tx, key.mode, order.taskType)),
    ...presentAnswer(found),
    review: presentReview(order),
  }
}

/** Reads a question. The expected time comes from the units of all agents, so no tenant is set; the key has the agent. */
export const read = (deps: QuestionDeps, { agentId, mode }: Agent, questionId: string) =>
  inTransaction(deps.ctx, 'system', async (tx) => {
    const question = await findQuestion(tx, deps, { agentId, mode, orderId: questionId })
    if (!question) throw new Refusal('not_found', { message: 'No such question.' })
    return question
  })
