import type { Mode } from '@pohf/protocol'
import {
  isReplay,
  replayCell,
  replayCellsNear,
  replayModel,
  strokeDistance,
  type ReplayDescriptor,
} from '@pohf/scorer'
import type { Tx } from '../../platform/db/db.ts'
import { insertSketches, listSketchesNear } from './store.ts'

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

type SketchedSession = { readonly key: SketchKey; readonly sketches: readonly ReplayDescriptor[] }

/** Stores the sketches of sessions; idempotent. */
export const storeSketches = async (tx: Tx, sessions: readonly SketchedSession[]): Promise<void> =>
  insertSketches(
    tx,
    sessions.flatMap(({ key, sketches }) =>
      sketches.map((sketch, index) => ({
        ...key,
        scope: scopeOf(key),
        number: index + 1,
        cell: replayCell(sketch, replayModel),
        bytes: Buffer.from(sketch.buffer, sketch.byteOffset, sketch.byteLength),
      })),
    ),
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
