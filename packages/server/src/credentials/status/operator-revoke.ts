import type { Operator } from '../../platform/http/call.ts'
import { changeState, type OperatorActionDeps, type StateChange } from './change-state.ts'

/** Ends a credential for good: the session it came from gets no other. */
export const operatorRevoke = async (act: OperatorActionDeps, operator: Operator, input: StateChange) =>
  changeState(act, operator, input, 'revoked')

/** Ends a credential that the program itself found to be unpaid; the audit log names the machine. */
export const revokeByMachine = async (act: OperatorActionDeps, input: StateChange) =>
  changeState(act, { operatorId: 'machine', name: 'machine' }, input, 'revoked')
