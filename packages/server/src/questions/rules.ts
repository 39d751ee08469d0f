import type { AnswerForm, OrderState, QuestionState, UnitState } from '@pohf/protocol'
import { Refusal, type Detail } from '../platform/http/errors.ts'
import { textErrors } from '../platform/texts/rules.ts'
import { answerFormOf } from './answer-schema.ts'

const minuteMs = 60_000
/** The shortest and longest time to answer, and the one of a question without deadline. */
const deadlineMsMin = 10 * minuteMs
const deadlineMsMax = 30 * 24 * 60 * minuteMs
const deadlineMsDefault = 24 * 60 * minuteMs

export type QuestionInput = {
  readonly question: string
  readonly answerSchema?: unknown
  readonly deadline?: string | undefined
}
/** A question that may be asked: its form and its deadline. */
export type CheckedQuestion = { readonly answerForm: AnswerForm; readonly answerBy: Date }

const deadlineErrors = (answerBy: Date, now: Date): Detail[] => {
  const path = 'body.deadline'
  const ms = answerBy.getTime() - now.getTime()
  if (ms < deadlineMsMin)
    return [{ path, code: 'deadline_too_short', message: 'must be at least 10 minutes from now' }]
  return ms > deadlineMsMax
    ? [{ path, code: 'deadline_too_long', message: 'must be at most 30 days from now' }]
    : []
}

/** Checks a question; refuses with the name of the rule that it breaks. */
export const checkQuestion = (input: QuestionInput, now: Date): CheckedQuestion => {
  const form = answerFormOf(input.answerSchema)
  const answerBy = input.deadline ? new Date(input.deadline) : new Date(now.getTime() + deadlineMsDefault)
  const details = [
    ...textErrors(input.question, 'body.question'),
    ...('errors' in form ? form.errors : []),
    ...deadlineErrors(answerBy, now),
  ]
  if ('errors' in form || details.length > 0) throw new Refusal('validation_failed', { details })
  return { answerForm: form.value, answerBy }
}

const unitStates: Readonly<Record<UnitState, QuestionState>> = {
  open: 'queued',
  claimed: 'claimed',
  delivered: 'answered',
  accepted: 'accepted',
  rejected: 'rejected',
  appealed: 'rejected',
  refused: 'refunded',
  cancelled: 'expired',
}
type Progress = {
  readonly order: OrderState
  readonly unit: UnitState | undefined
  /** The deadline has passed. */
  readonly isLate: boolean
  /** The unit was cancelled while it could still be claimed: by the buyer, or by a chargeback. */
  readonly isCancelledEarly: boolean
}
/** What a buyer is told of a question, by the states of its order and unit. */
export const questionStateOf = ({ order, unit, isLate, isCancelledEarly }: Progress): QuestionState => {
  if (unit === undefined) {
    if (order === 'cancelled') return 'cancelled'
    return order === 'created' && !isLate ? 'unpaid' : 'expired'
  }
  return unit === 'cancelled' && isCancelledEarly ? 'cancelled' : unitStates[unit]
}
