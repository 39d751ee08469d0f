import type { operatorEndpoints } from '@pohf/protocol'

type Row<Id> = Extract<(typeof operatorEndpoints)[number], { readonly publicId: Id }>
/** The response type of an endpoint of operators, from its schema. */
type AnswerOf<Id> = Row<Id> extends { readonly response: { readonly _output: infer Output } } ? Output : never

export type Overview = AnswerOf<'operators.overview'>
export type Operators = AnswerOf<'operators.list'>
export type AuditPage = AnswerOf<'operators.audit'>
export type AuditEntry = AuditPage['entries'][number]
export type AgentPage = AnswerOf<'agents.operator-list'>
export type ListedAgent = AgentPage['agents'][number]
export type AgentDetails = AnswerOf<'agents.operator-read'>
export type PayoutPage = AnswerOf<'partners.payout-list'>
export type Payout = PayoutPage['payouts'][number]
export type RefundPage = AnswerOf<'payments.operator-refunds'>
export type Refund = RefundPage['refunds'][number]
export type PurchasePage = AnswerOf<'work.operator-purchases'>
export type OperatorPurchase = PurchasePage['purchases'][number]
export type ForwardPage = AnswerOf<'vhh.operator-forwards'>
export type Forward = ForwardPage['forwards'][number]
export type SigningKeys = AnswerOf<'signing.keys-list'>
export type SigningKey = SigningKeys['keys'][number]
export type KeysCheck = AnswerOf<'signing.keys-check'>
export type LedgerCheck = AnswerOf<'ledger.operator-check'>
export type CreditsCheck = AnswerOf<'credits.operator-check'>
export type SuspendedRoots = AnswerOf<'roots.operator-suspended'>
export type SuspendedRoot = SuspendedRoots['suspended'][number]
export type Sites = AnswerOf<'roots.operator-sites'>
export type TrustRoots = AnswerOf<'trust.operator-list'>
export type TrustRoot = TrustRoots['roots'][number]
export type RootSuspension = AnswerOf<'roots.operator-suspend'>
