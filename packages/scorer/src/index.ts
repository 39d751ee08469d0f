export { type MotionPoint, toStrokes } from './strokes.ts'
