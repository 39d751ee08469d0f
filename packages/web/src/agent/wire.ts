import type { additions, specification } from '@pohf/protocol'

type Row<Id> = Extract<(typeof additions | typeof specification)[number], { readonly publicId: Id }>
/** The response type of an endpoint, from its schema. */
type AnswerOf<Id> = Row<Id> extends { readonly response: { readonly _output: infer Output } } ? Output : never

export type AgentProfile = AnswerOf<'agents.profile'>
export type ApiKeys = AnswerOf<'agents.keys-list'>
export type ApiKey = ApiKeys['keys'][number]
export type Balance = AnswerOf<'credits.balance'>
export type Members = AnswerOf<'members.list'>
export type Member = Members['members'][number]
export type Invitation = AnswerOf<'members.create'>
export type Session = AnswerOf<'sessions.read'>
export type EventTypes = AnswerOf<'webhooks.catalog'>
export type Credentials = AnswerOf<'credentials.list'>
export type CredentialRecord = Credentials['credentials'][number]
export type CredentialDetails = AnswerOf<'credentials.read'>
export type Sessions = AnswerOf<'sessions.list'>
export type SessionRecord = Sessions['sessions'][number]
export type Requests = AnswerOf<'requests.list'>
export type LoggedRequest = Requests['requests'][number]
export type Attention = AnswerOf<'tracking.attention'>
export type Funnel = AnswerOf<'tracking.funnel'>
export type Verification = AnswerOf<'credentials.verify'>
export type Approvals = AnswerOf<'approvals.list'>
export type ListedApproval = Approvals['approvals'][number]
export type ApprovalDetails = AnswerOf<'approvals.read'>
export type ActionTypes = AnswerOf<'approvals.types-list'>
export type ActionTypeRecord = ActionTypes['types'][number]
export type Approvers = AnswerOf<'approvals.approvers-list'>
export type Approver = Approvers['approvers'][number]
export type ApproverGroups = AnswerOf<'approvals.groups-list'>
export type ApprovalSettings = AnswerOf<'approvals.settings-read'>
export type ApprovalReport = AnswerOf<'approvals.report'>
export type ApprovalFigures = ApprovalReport['team']
export type KnownBadRequests = AnswerOf<'approvals.known-bad-list'>
export type Usage = AnswerOf<'credits.usage'>
export type Campaigns = AnswerOf<'tasks.campaigns-list'>
export type Campaign = Campaigns['campaigns'][number]
export type CampaignDetails = AnswerOf<'tasks.campaign-read'>
export type Account = AnswerOf<'accounts.account'>
export type ConsoleToken = AnswerOf<'accounts.token'>
export type People = AnswerOf<'accounts.people-list'>
export type Person = People['people'][number]
export type ConsoleSessions = AnswerOf<'accounts.sessions-list'>
export type PasskeyList = AnswerOf<'accounts.passkeys-list'>
export type PasskeyOptions = AnswerOf<'accounts.passkey-options'>
