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
