import { z } from 'zod'
import { presentApproval } from '../records.ts'
import { fieldOf, fieldsOf, resultFrom, type Tool } from './tool.ts'

const requested = ['type', 'action', 'requestId', 'audience', 'approvers', 'group', 'decideBy'] as const

export const requestApproval: Tool = {
  name: 'request_approval',
  title: 'Ask people to approve an action',
  description:
    'Asks named people to approve an action, exactly as it is, before you do it. approvers or group are people whom an owner of the account enrolled. Returns at once with approvalId and status: read resource, or call again with approvalId alone, until status is no longer pending. Show approveUrl to an approver who is with you. A changed action needs another request. Only the audience consumes it, once, over the API, before it acts. Needs an API key with the scope approvals.',
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  needs: ['approvals.requests.create', 'approvals.requests.read'],
  output: z.object({
    approvalId: z.string(),
    status: z.string(),
    resource: z.string(),
    approveUrl: z.string(),
    envelopeHash: z.string(),
    decisions: z.array(z.looseObject({})),
  }),
  input: z
    .object({
      ...fieldsOf('approvals.requests.create', 'body', requested),
      approvalId: fieldOf('approvals.requests.read', 'params', 'approvalId'),
    })
    .partial(),
  run: async (call) => {
    const { approvalId, ...body } = call.input
    const answer =
      approvalId === undefined
        ? await call.dispatch('approvals.requests.create', { body })
        : await call.dispatch('approvals.requests.read', { params: { approvalId } })
    const { BASE_URL } = call.ctx.config
    return resultFrom(call, answer, (approval) => presentApproval(approval, BASE_URL))
  },
}
