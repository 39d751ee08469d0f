import type { Operator } from '../../platform/http/call.ts'
import { changeState, type Act, type Input } from './change-state.ts'

/** Lifts a suspension. */
export const operatorReinstate = async (act: Act, operator: Operator, input: Input) =>
  changeState(act, operator, input, 'issued')
