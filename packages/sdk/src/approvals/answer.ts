import { ApprovalUnavailable } from './errors.ts'

/** What the guard reads of an answer. Everything else in it is for `verifyApproval`, which checks it. */
export type ApprovalAnswer = {
  readonly approvalId: string
  readonly mode: string
  readonly status: string
  readonly envelope: unknown
  readonly envelopeHash: string
  readonly definition: unknown
  readonly decisions: readonly Decision[]
  readonly consumableAt: string | null
}
type Decision = {
  readonly decision: string
  readonly words: string | null
  readonly pohf_jwt: string | null
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isText = (value: unknown): boolean => typeof value === 'string'
const isTextOrNull = (value: unknown): boolean => value === null || isText(value)

const isDecision = (value: unknown): boolean =>
  isObject(value) &&
  isText(value['decision']) &&
  isTextOrNull(value['words']) &&
  isTextOrNull(value['pohf_jwt'])

const isAnswer = (value: unknown): value is ApprovalAnswer =>
  isObject(value) &&
  ['approvalId', 'mode', 'status', 'envelopeHash'].every((name) => isText(value[name])) &&
  isTextOrNull(value['consumableAt']) &&
  Array.isArray(value['decisions']) &&
  value['decisions'].every(isDecision)

/** The answer comes over a network: whatever is not of this form is no answer. */
export const readAnswer = (value: unknown): ApprovalAnswer => {
  if (!isAnswer(value)) throw new ApprovalUnavailable('The service gave no usable answer.')
  return value
}
