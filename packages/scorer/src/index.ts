export { type MotionPoint, toRuns, toStrokes } from './strokes.ts'
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
