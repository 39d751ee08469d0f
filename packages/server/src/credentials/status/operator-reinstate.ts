import type { Operator } from '../../platform/http/call.ts'
import { changeState, type OperatorActionDeps, type StateChange } from './change-state.ts'

/** Lifts a suspension. */
export const operatorReinstate = async (act: OperatorActionDeps, operator: Operator, input: StateChange) =>
  changeState(act, operator, input, 'issued')
