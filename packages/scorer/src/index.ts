export { type MotionModel } from './model.ts'
export { type MotionJudgement, judgeMotion } from './motion.ts'
export { type MotionPoint, type Stroke, toRuns, toStrokes } from './strokes.ts'
