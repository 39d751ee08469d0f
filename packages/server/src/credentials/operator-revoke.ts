import type { Operator } from '../platform/call.ts'
import { changeState, type Act, type Input } from './change-state.ts'

/** Ends a credential for good: the session it came from gets no other. */
export const operatorRevoke = async (act: Act, operator: Operator, input: Input) =>
  changeState(act, operator, input, 'revoked')
