import type { Operator } from '../../platform/http/call.ts'
import { changeState, type Act, type Input } from './change-state.ts'

/** Ends a credential for good: the session it came from gets no other. */
export const operatorRevoke = async (act: Act, operator: Operator, input: Input) =>
  changeState(act, operator, input, 'revoked')

/** Ends a credential that the program itself found to be unpaid; the audit log names the machine. */
export const revokeByMachine = async (act: Act, input: Input) =>
  changeState(act, { operatorId: 'machine', name: 'machine' }, input, 'revoked')
