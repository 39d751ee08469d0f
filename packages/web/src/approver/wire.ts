import type { additions } from '@pohf/protocol'

type Row<Id> = Extract<(typeof additions)[number], { readonly publicId: Id }>
/** The response type of an endpoint, from its schema. */
type AnswerOf<Id> = Row<Id> extends { readonly response: { readonly _output: infer Output } } ? Output : never

export type Approvals = AnswerOf<'approvals.approver-list'>
export type ListedApproval = Approvals['waiting'][number]
export type Approval = AnswerOf<'approvals.approver-read'>
export type DecisionOptions = AnswerOf<'approvals.approver-options'>
export type DecisionResult = AnswerOf<'approvals.approver-decide'>
export type OwnFigures = AnswerOf<'approvals.approver-figures'>
