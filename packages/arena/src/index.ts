export { families, generatorOf, type Family } from './generators/index.ts'
export type { Generator, Point, StrokeLibrary, TimedPoint } from './generators/types.ts'
export { offlineSession, type SessionEvent } from './offline-session.ts'
export { createRandom, gaussian, uniform, type Random } from './random.ts'
