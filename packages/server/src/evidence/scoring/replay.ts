import type { Mode } from '@pohf/protocol'
import {
  describeStroke,
  isReplay,
  replayCell,
  replayCellsNear,
  replayModel,
  strokeDistance,
  toRuns,
  type MotionPoint,
  type ReplayDescriptor,
} from '@pohf/scorer'
import type { Tx } from '../../platform/db/db.ts'
import { insertSketches, listSketchesNear } from './store.ts'

/** About ten minutes of continuous motion; later strokes are not stored. */
const sketchesStoredMax = 256
/**
 * Strokes compared, spread evenly over the session. With three million stored strokes each is compared with a
 * thousand.
 */
const sketchesComparedMax = 24

type SketchKey = {
  readonly agentId: string
  readonly mode: Mode
  readonly sessionId: string
  readonly at: Date
}

/** Test strokes are compared within one agent, live strokes across all agents. */
const scopeOf = ({ agentId, mode }: SketchKey): string => (mode === 'live' ? 'live' : agentId)

/** Sketches of the distinctive strokes of a session; most strokes are alike in everybody and are not stored. */
export const sketchesOf = (points: readonly MotionPoint[]): ReplayDescriptor[] =>
  toRuns(points)
    .flatMap((run) => describeStroke(run, replayModel) ?? [])
    .slice(0, sketchesStoredMax)

/** Stores the sketches of a session; idempotent. */
export const storeSketches = async (
  tx: Tx,
  key: SketchKey,
  sketches: readonly ReplayDescriptor[],
): Promise<void> =>
  insertSketches(
    tx,
    { ...key, scope: scopeOf(key) },
    sketches.map((sketch) => ({
      cell: replayCell(sketch, replayModel),
      bytes: Buffer.from(sketch.buffer, sketch.byteOffset, sketch.byteLength),
    })),
  )

const sampleEvenly = (sketches: readonly ReplayDescriptor[]): ReplayDescriptor[] => {
  const step = Math.max(1, sketches.length / sketchesComparedMax)
  return sketches.filter((_, index) => Math.floor(index / step) !== Math.floor((index - 1) / step))
}

const readSketch = (bytes: Buffer): ReplayDescriptor => {
  const sketch = new Int16Array(bytes.length / 2)
  for (let index = 0; index < sketch.length; index += 1) sketch[index] = bytes.readInt16LE(index * 2)
  return sketch
}

/** Whether other sessions contain more of these strokes than chance explains. */
export const isKnownReplay = async (
  tx: Tx,
  key: SketchKey,
  sketches: readonly ReplayDescriptor[],
): Promise<boolean> => {
  const sample = sampleEvenly(sketches)
  const near = sample.map((sketch) => new Set(replayCellsNear(sketch, replayModel)))
  const stored = await listSketchesNear(tx, { ...key, scope: scopeOf(key) }, [
    ...new Set(near.flatMap((cells) => [...cells])),
  ])
  const others = stored.map(({ cell, bytes }) => ({ cell, sketch: readSketch(bytes) }))
  const matched = sample.filter((sketch, index) =>
    others.some(
      (other) => near[index]?.has(other.cell) && strokeDistance(sketch, other.sketch) <= replayModel.radius,
    ),
  )
  return isReplay({ informative: sample.length, matched: matched.length })
}
