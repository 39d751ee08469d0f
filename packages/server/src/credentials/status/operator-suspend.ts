import type { Operator } from '../../platform/http/call.ts'
import { changeState, type OperatorActionDeps, type StateChange } from './change-state.ts'

/** Suspends a credential until it is reinstated or revoked. */
export const operatorSuspend = async (act: OperatorActionDeps, operator: Operator, input: StateChange) =>
  changeState(act, operator, input, 'suspended')
