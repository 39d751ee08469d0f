import { currentModel } from './current-model.ts'
import { evaluateMotion } from './motion.ts'
import type { InputModel } from './score.ts'

/** The model in force. It is large, so it has an entry of its own: a page loads it when somebody scores a session. */
export const inputModel: InputModel = {
  version: currentModel.version,
  evaluate: (points) => evaluateMotion(points, currentModel),
}
