import type { operatorEndpoints } from '@pohf/protocol'

type Row<Id> = Extract<(typeof operatorEndpoints)[number], { readonly publicId: Id }>
/** The response type of an endpoint, from its schema. */
type AnswerOf<Id> = Row<Id> extends { readonly response: { readonly _output: infer Output } } ? Output : never

export type OperatorToken = AnswerOf<'operators.token'>
export type PasskeyList = AnswerOf<'operators.passkeys-list'>
export type PasskeyOptions = AnswerOf<'operators.passkey-options'>
export type SessionList = AnswerOf<'operators.sessions-list'>
