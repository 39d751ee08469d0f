import type { EndpointId } from '../platform/http/call.ts'
import { isRecord, truncate, type Json } from './tools/tool.ts'

/** What a worker or an approver wrote is text by a third party: a model gets at most this much of each text. */
const foreignTextMax = 4_000

const questionUri = (questionId: string): string => `pohf://questions/${questionId}`
const approvalUri = (approvalId: string): string => `pohf://approvals/${approvalId}`

/** A question with the resource that shows its progress, and where a wallet pays it if one can. */
export const presentQuestion = (question: Json, baseUrl: string, takesWallets: boolean): Json => ({
  ...question,
  resource: questionUri(String(question['questionId'])),
  payUrl:
    takesWallets && question['status'] === 'unpaid'
      ? `${baseUrl}/api/agents/questions/${String(question['questionId'])}/pay`
      : null,
  answer: truncate(question['answer'], foreignTextMax),
})

/** An approval with its resource and its page. The action stays as it is: its hash is over every character. */
export const presentApproval = (approval: Json, baseUrl: string): Json => {
  const { approvalId, decisions } = approval
  return {
    ...approval,
    resource: approvalUri(String(approvalId)),
    approveUrl: `${baseUrl}/approve/${String(approvalId)}`,
    decisions: (Array.isArray(decisions) ? decisions : [])
      .filter(isRecord)
      .map((decision) => ({ ...decision, words: truncate(decision['words'], foreignTextMax) })),
  }
}

type RecordKind = {
  readonly id: EndpointId
  readonly param: string
  readonly present: (record: Json, baseUrl: string, takesWallets: boolean) => Json
}
/** The records that are resources, by the first part of their address: how each is read and shown. */
export const recordKinds: Readonly<Record<string, RecordKind>> = {
  credentials: { id: 'credentials.issued.read', param: 'credentialId', present: (record) => record },
  questions: { id: 'questions.read', param: 'questionId', present: presentQuestion },
  approvals: { id: 'approvals.requests.read', param: 'approvalId', present: presentApproval },
}

const mimeType = 'application/json'
export const resourceTemplates = [
  {
    uriTemplate: 'pohf://credentials/{credentialId}',
    name: 'credential',
    title: 'A credential of the calling agent',
    description: 'State and claims of a credential that this API key issued. Needs an API key.',
    mimeType,
  },
  {
    uriTemplate: questionUri('{questionId}'),
    name: 'question',
    title: 'A question of the calling agent',
    description: 'Progress of a question of ask_human, and its answer with its credential. Needs an API key.',
    mimeType,
  },
  {
    uriTemplate: approvalUri('{approvalId}'),
    name: 'approval',
    title: 'An approval of the calling agent',
    description: 'Status and decisions of a request of request_approval. Needs an API key.',
    mimeType,
  },
] as const
