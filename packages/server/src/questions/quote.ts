import { inTransaction, readNow, type Tx } from '../platform/db/db.ts'
import type { Ctx } from '../platform/ops/context.ts'
import type { Offer } from './offer.ts'
import { checkQuestion, type QuestionInput } from './rules.ts'

/** Checks a question and says what it costs. Nothing is written. */
export const quote = (ctx: Ctx, read: (tx: Tx) => Promise<Offer>, input: QuestionInput) =>
  inTransaction(ctx, 'system', async (tx) => {
    const { answerForm, answerBy } = checkQuestion(input, await readNow(tx))
    return { ...(await read(tx)), deadline: answerBy.toISOString(), answerForm }
  })
