export { toRuns, toStrokes, type MotionPoint, type Stroke } from './strokes.ts'
