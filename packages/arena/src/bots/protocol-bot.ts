// The strongest attacker that needs no machine: a script that speaks the protocol, keeps its times, moves as a blend of
// people's strokes, and looks at the pixels of each probe. What it says of itself (trusted events, no automation, page
// visible) is its own word, and the protocol cannot tell.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Probe } from '@pohf/protocol'
import { generatorOf } from '../generators/index.ts'
import type { Generator, Point } from '../generators/types.ts'
import { toFrames } from '../offline-session.ts'
import { openSession } from '../protocol/client.ts'
import { gaussian, type Random, uniform } from '../random.ts'
import { findOpenRing } from '../vision/open-ring.ts'
import { decodePng } from '../vision/png.ts'
import type { Bot } from './bot.ts'
import { claimedEnvironment } from './environment.ts'
import { createTimeline } from './timeline.ts'

const sessionMsMax = 120_000
/** Where the made-up page shows its probes. */
const imageAt: Point = { x: 523, y: 310 }

type Timeline = ReturnType<typeof createTimeline>
type Player = { readonly random: Random; readonly generate: Generator; readonly timeline: Timeline }

/** As people need from seeing a target to pressing: median 1.07 s, never below 0.6. */
const acquisitionMs = (random: Random): number =>
  Math.min(2_300, Math.max(600, 400 + Math.exp(6.51 + 0.41 * gaussian(random))))

const press = ({ timeline, random }: Player, at: Point, t: number): number => {
  const up = t + Math.round(uniform(random, 60, 120))
  timeline.plan({ type: 'down', t, pointer: 'm', trusted: true, ...at })
  timeline.plan({ type: 'up', t: up, pointer: 'm', trusted: true, ...at })
  timeline.plan({ type: 'click', t: up, how: 'm', trusted: true })
  return up
}

/** Plans how a person would look, reach and press. Returns the end, or undefined where no ring was found. */
const answerPointProbe = (
  player: Player,
  probe: Probe & { kind: 'point' },
  shownAt: number,
): number | undefined => {
  const { random, generate, timeline } = player
  const ring = findOpenRing(decodePng(Buffer.from(probe.image.slice(probe.image.indexOf(',') + 1), 'base64')))
  const from = timeline.stop(shownAt + Math.round(uniform(random, 120, 200)))
  timeline.plan({ type: 'shown', t: shownAt, probe: probe.id })
  if (!ring) return undefined
  const near = (value: number) => Math.round(value + uniform(random, -5, 5))
  const aim = { x: near(ring.x), y: near(ring.y) }
  const at = { x: imageAt.x + aim.x, y: imageAt.y + aim.y }
  const stroke = toFrames(generate(random, from, at), uniform(random, 0, 16))
  const strokeMs = Math.round(stroke.at(-1)?.t ?? 0)
  const begin = shownAt + 220 + Math.max(0, Math.round(acquisitionMs(random)) - 220 - strokeMs)
  timeline.move(begin, stroke)
  const pressed = begin + strokeMs + Math.round(uniform(random, 30, 110))
  const up = press(player, at, pressed)
  timeline.plan({ type: 'point', t: up, probe: probe.id, how: 'm', trusted: true, ...aim })
  return up
}

/** Points at every probe as soon as a person could. There is no time between probes in which a hand would wander. */
export const protocolBot: Bot = async ({ target, library, random, signal }) => {
  // Without a library it moves by the best synthetic family.
  const generate = generatorOf(library.length > 0 ? 'stroke_morph' : 'sigma_lognormal', library)
  const session = await openSession(target, claimedEnvironment)
  const startedAt = performance.now()
  const now = () => Math.round(performance.now() - startedAt)
  const start: Point = {
    x: Math.round(uniform(random, 200, 1_100)),
    y: Math.round(uniform(random, 200, 600)),
  }
  const timeline = createTimeline(start)
  const player = { random, generate, timeline }
  timeline.plan({ type: 'focus', t: 0, visible: true, focused: true, share: 100 })
  let { receipt } = session
  let [probes, answered, answerAt] = [0, 0, 0]
  while (now() < sessionMsMax) {
    if (receipt.probe) {
      probes += 1
      const shownAt = now() + Math.round(uniform(random, 15, 45))
      const end =
        receipt.probe.kind === 'point' ? answerPointProbe(player, receipt.probe, shownAt) : undefined
      if (end !== undefined) answered += 1
      answerAt = end ?? shownAt
    }
    if (receipt.progress.done >= receipt.progress.of && answerAt <= now()) break
    const dueAt = now() + receipt.nextMs
    const until = answerAt > now() ? Math.min(dueAt, answerAt + 5) : dueAt
    await sleep(Math.max(20, until - now()), undefined, { signal })
    const t1 = now()
    receipt = await session.send(timeline.take(t1), t1)
  }
  const t1 = now()
  return {
    sessionId: session.sessionId,
    status: await session.finish(timeline.take(t1), t1),
    probes,
    answered,
  }
}
