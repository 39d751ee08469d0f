import type { additions } from '@pohf/protocol'

type Row<Id> = Extract<(typeof additions)[number], { readonly publicId: Id }>
/** The response type of an endpoint, from its schema. */
type AnswerOf<Id> = Row<Id> extends { readonly response: { readonly _output: infer Output } } ? Output : never

export type Tasks = AnswerOf<'work.worker-tasks'>
export type Task = Tasks['tasks'][number]
export type Assignment = AnswerOf<'work.worker-assignment'>
export type AssignmentSummary = AnswerOf<'work.worker-return'>
export type Earnings = AnswerOf<'work.worker-earnings'>
export type StarsAccount = Earnings['books'][number]
export type Payout = AnswerOf<'work.worker-payout'>
export type AnswerField = Assignment['answerForm'][number]
export type InputField = Assignment['inputForm'][number]
