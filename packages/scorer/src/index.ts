export { type MotionPoint, toStrokes } from './strokes.ts'
export * from './quality.ts'
export * from './score.ts'
export { inputModel } from './input-model.ts'
