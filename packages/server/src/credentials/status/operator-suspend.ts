import type { Operator } from '../../platform/http/call.ts'
import { changeState, type OperatorActionDeps, type StateChange } from './change-state.ts'

/** Holds a credential in doubt; verifiers see it as suspended until it is reinstated or revoked. */
export const operatorSuspend = async (act: OperatorActionDeps, operator: Operator, input: StateChange) =>
  changeState(act, operator, input, 'suspended')
