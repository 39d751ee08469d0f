export { type MotionModel } from './model.ts'
export { type MotionJudgement, judgeMotion } from './motion.ts'
export { type MotionPoint, type Stroke, toRuns, toStrokes } from './strokes.ts'
export {
  createReplayIndex,
  describeStroke,
  finishDescriptor,
  isReplay,
  rawDescriptor,
  type ReadStroke,
  readStroke,
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
export { calibrate, type Calibrated, type ConsentedSession } from './calibrate.ts'
export { recompute, type Claimed, type Recomputed } from './recompute.ts'
