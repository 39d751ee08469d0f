import type { Receipt } from '@pohf/protocol'
import type { ProbeTruth } from '@pohf/protocol/telemetry'
import type { Harness } from './harness.ts'
import { environment, openRecorder, peekTruth, type Recorder, type SessionKeyPair } from './recorder.ts'

export type Play = {
  readonly site: string
  readonly kind?: 'view' | 'work' | 'task'
  readonly challenge?: string
  readonly workflowId?: string
  readonly headers?: Record<string, string>
  readonly key?: SessionKeyPair
  readonly webdriver?: boolean
  readonly trusted?: 0 | 1
  readonly visible?: 0 | 1
  readonly answers?: boolean
  /** Runs of motion, one for each chunk from the second on: each point x, y and the milliseconds since the last. */
  readonly strokes?: readonly (readonly (readonly [x: number, y: number, dt: number])[])[]
}

const chunkMs = 2_000
const answerEvents = (truth: ProbeTruth, trusted: 0 | 1): unknown[] => [
  ['o', 20, truth.id],
  ['k', 900, 'd', 1, trusted],
  truth.kind === 'choose'
    ? ['b', 40, truth.id, 'k', trusted, truth.choice]
    : ['a', 40, truth.id, 't', trusted, truth.x, truth.y],
  ['k', 30, 'u', 1, trusted],
]
const strokeEvents = (stroke: NonNullable<Play['strokes']>[number], trusted: 0 | 1): unknown[] => {
  const [first, ...rest] = stroke
  if (!first) return []
  let [x, y] = first
  const steps = rest.flatMap(([nextX, nextY, dt]) => {
    const step = [dt, nextX - x, nextY - y]
    ;[x, y] = [nextX, nextY]
    return step
  })
  return [['m', 30, 'm', trusted, stroke.length, [first[0], first[1], ...steps]]]
}

/**
 * Somebody, or something, lives through a whole session; the server's time moves with them. By the keyboard, unless
 * there are strokes: then probes are touched.
 */
export const play = async (
  harness: Harness,
  { trusted = 1, visible = 1, answers = true, webdriver = false, strokes = [], ...opening }: Play,
): Promise<{ sessionId: string; status: string; recorder: Recorder }> => {
  const recorder = await openRecorder({ send: harness.call, ...opening })
  const { sessionId } = recorder
  let receipt: Receipt = recorder.now().receipt
  // The page's clock goes with the server's, also on a machine that is slow to run the test.
  const startedAt = receipt.at
  const elapsed = () => Math.round(harness.ctx.clock.now().getTime() - startedAt)
  for (let seq = 1; seq <= 60; seq += 1) {
    await harness.advance(chunkMs)
    const truth = receipt.probe && answers ? await peekTruth(harness.owner, sessionId) : undefined
    const stroke = strokes[seq - 2]
    const events = [
      ...(seq === 1
        ? [['f', 5, visible, visible, visible * 100], ...(strokes.length > 0 ? [] : [['x', 10]])]
        : []),
      ...(receipt.probe && !truth ? [['o', 20, receipt.probe.id]] : []),
      ...(truth ? answerEvents(truth, trusted) : []),
      ...(stroke ? strokeEvents(stroke, trusted) : []),
    ]
    const over = seq === 1 ? { env: { ...environment, webdriver } } : {}
    receipt = await recorder.chunk({ t1: elapsed(), events, over })
    const isDone = receipt.progress.done >= receipt.progress.of && seq > strokes.length + 1
    if (!isDone) continue
    await harness.advance(100)
    const ended = await recorder.finish({ t1: elapsed() })
    if (ended.status !== 200) throw new Error(`not finished: ${ended.text}`)
    return { sessionId, status: ended.json.status as string, recorder }
  }
  throw new Error('the session does not end')
}

/** Curves with a life of their own, from a seed: enough to be told apart, and no model of a person. */
export const strokesOf = (seed: number, jitter = 0) =>
  Array.from({ length: 10 }, (_, number) => {
    let state = seed * 1_000 + number
    const draw = () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      return state / 2 ** 32
    }
    const [bend, wave, width, heading] = [draw() * 400 - 200, 1 + draw() * 3, 40 + draw() * 160, draw() * 6]
    const pace = Array.from({ length: 50 }, () => 8 + Math.floor(draw() * draw() * 24))
    return pace.map((dt, index): [number, number, number] => {
      const along = index / 49
      const across = bend * along * (1 - along) + width * Math.sin(wave * along * Math.PI)
      const [cos, sin] = [Math.cos(heading), Math.sin(heading)]
      const shake = jitter === 0 ? 0 : ((index * 7 + number) % 3) - 1
      return [
        Math.round(800 + 700 * along * cos - across * sin) + shake,
        Math.round(800 + 700 * along * sin + across * cos) - shake,
        dt,
      ]
    })
  })
