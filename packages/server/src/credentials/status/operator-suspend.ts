import type { Operator } from '../../platform/http/call.ts'
import { changeState, type Act, type Input } from './change-state.ts'

/** Holds a credential in doubt; verifiers see it as suspended until it is reinstated or revoked. */
export const operatorSuspend = async (act: Act, operator: Operator, input: Input) =>
  changeState(act, operator, input, 'suspended')
