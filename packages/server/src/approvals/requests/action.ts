import { actionBytesMax, canonicalJson, jsonFault, type Json } from '@pohf/verify/approvals'
import { approvalRefused } from '../rules.ts'

export type Action = { readonly [key: string]: Json }

/** The action of a request. Refuses what two readers could read differently, and what is too large to show. */
export const requireAction = (action: unknown): Action => {
  if (typeof action !== 'object' || action === null || Array.isArray(action))
    throw approvalRefused('body.action', 'object', 'the action must be a JSON object')
  const fault = jsonFault(action)
  if (fault) throw approvalRefused(`body.action${fault.path}`, fault.code, fault.message)
  const checked = action as Action
  if (Object.keys(checked).length === 0)
    throw approvalRefused('body.action', 'empty', 'the action has no field, so there is nothing to show')
  if (Buffer.byteLength(canonicalJson(checked)) > actionBytesMax)
    throw approvalRefused('body.action', 'size', `the action is longer than ${actionBytesMax} bytes`)
  return checked
}
