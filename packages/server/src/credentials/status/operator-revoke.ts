import type { Operator } from '../../platform/http/call.ts'
import { changeState, type OperatorActionDeps, type StateChange } from './change-state.ts'

/** Revokes a credential for good: its session gets no other. */
export const operatorRevoke = async (act: OperatorActionDeps, operator: Operator, input: StateChange) =>
  changeState(act, operator, input, 'revoked')
