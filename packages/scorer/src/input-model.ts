import type { InputModel } from './score.ts'

/** The model that this version ships with. */
export const inputModel: InputModel = {
  version: 'input-2026.11',
  judge: () => ({ motionSeconds: 0, strokes: 0, p: null, synthetic: false }),
}
