// The model that scores new sessions. Its file is written by `npx node tools/evaluation/fit-model.ts` and never by hand. It is
// apart from the functions, so that a page which only needs those does not load it.
import stored from './models/input-2026.11.json' with { type: 'json' }
import type { MotionModel } from './model.ts'

export const currentModel = stored as unknown as MotionModel
