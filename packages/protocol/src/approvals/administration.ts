import { z } from 'zod'
import { operation } from '../platform/endpoint.ts'
import { displayName, email, instant, json, reference, text } from '../platform/fields.ts'
import { actionTypeName, actionTypeView, approvalPolicy, approversMax, approverWays } from './operations.ts'

const jsonPointer = z
  .string()
  .max(200)
  .regex(/^(\/([^~/]|~[01])*)+$/, 'must be a JSON Pointer')

export const actionType = actionTypeView.extend({
  schema: z.record(z.string(), z.unknown()),
  policy: approvalPolicy,
  createdAt: instant(),
  createdBy: z.string().meta({ description: 'The person of the account who registered this version.' }),
})
export type ActionTypeRecord = z.output<typeof actionType>

export const typesList = operation({
  summary: 'List the registered action types.',
  response: z.object({ types: z.array(actionType).max(200) }),
})
export const typesWrite = operation({
  summary: 'Register an action type, or a new version of it.',
  errors: ['approval_conflict', 'approval_refused'],
  exactJson: true,
  params: z.object({ type: actionTypeName }),
  body: z.object({
    title: displayName(100),
    schema: json(16_384).meta({ description: 'A JSON Schema (2020-12) of the action, without references.' }),
    labels: z.record(jsonPointer, displayName(100)).optional(),
    critical: z.array(jsonPointer).min(1).max(20),
    policy: approvalPolicy,
  }),
  response: actionType,
})
export const typesRetire = operation({
  summary: 'Retire an action type. Requests of it need the strictest policy from then on.',
  errors: ['not_found'],
  params: z.object({ type: actionTypeName }),
  response: z.object({ type: z.string(), retired: z.literal(true) }),
})

export const approver = z.object({
  approver: z.string(),
  name: z.string(),
  email: z.string().nullable().meta({ description: 'Null for an API key, and once the person is erased.' }),
  status: z.enum(['invited', 'enrolled', 'removed']).meta({
    description: 'invited: the link in the mail was not used yet. enrolled: the person can decide.',
  }),
  createdAt: instant(),
  createdBy: z.string(),
  way: z.enum(approverWays).meta({ description: 'How the person was enrolled, or is to be.' }),
  issuer: z.string().nullable().meta({
    description: 'The outside issuer with which the person has to sign in before they decide.',
  }),
})
export const approversList = operation({
  summary: 'List the people who may approve.',
  response: z.object({ approvers: z.array(approver).max(200) }),
})
export const approversInvite = operation({
  summary: 'Invite a person to approve, by a mail to the address. They enrol with a passkey.',
  errors: ['approval_conflict', 'rate_limited', 'not_found'],
  body: z.object({
    name: displayName(80),
    email: email(),
    issuer: text(128).optional().meta({
      description:
        'Let the person sign in with this company: GET /api/agents/issuers lists those that serve you.',
    }),
  }),
  response: approver,
})
export const approversRemove = operation({
  summary: 'Remove an approver. What waits for this person waits for the others.',
  errors: ['not_found'],
  params: z.object({ approver: text(64) }),
  response: z.object({ approver: z.string(), removed: z.literal(true) }),
})

export const group = z.object({
  name: z.string(),
  approvers: z.array(z.string()).max(approversMax),
  changedAt: instant(),
})
export const groupsList = operation({
  summary: 'List the groups of approvers.',
  response: z.object({ groups: z.array(group).max(100) }),
})
export const groupsWrite = operation({
  summary: 'Create or change a group of approvers.',
  errors: ['approval_refused', 'approval_conflict'],
  params: z.object({ name: reference(64) }),
  body: z.object({ approvers: z.array(text(64)).min(1).max(approversMax) }),
  response: group,
})
export const groupsRemove = operation({
  summary: 'Remove a group.',
  errors: ['not_found'],
  params: z.object({ name: reference(64) }),
  response: z.object({ name: z.string(), removed: z.literal(true) }),
})
