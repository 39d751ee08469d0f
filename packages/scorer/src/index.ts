export { type MotionModel } from './model.ts'
export { type MotionEvaluation, evaluateMotion } from './motion.ts'
export { type MotionPoint, type Stroke, toRuns, toStrokes } from './strokes.ts'
export {
  createReplayIndex,
  describeStroke,
  whitenDescriptor,
  isReplay,
  rawDescriptor,
  type ResampledStroke,
  resampleStroke,
  replayCell,
  replayCellsNear,
  type ReplayDescriptor,
  replayMatchesNeeded,
  type ReplayModel,
  replayModel,
  strokeDistance,
} from './replay.ts'
export * from './quality.ts'
export * from './score.ts'
export * from './visible.ts'
export { calibrate, type CalibrationResult, type ConsentedSession } from './calibrate.ts'
export { recompute, type ClaimedScore, type RecomputeResult } from './recompute.ts'
