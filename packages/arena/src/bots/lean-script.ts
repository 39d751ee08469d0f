// The cheapest way that we know: no browser, no pictures, no motion. The script asks for the accessible alternative, reads
// the word in the sentence, and ends at the first moment at which the published rules verify the session.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Probe } from '@pohf/protocol'
import { probeWindows } from '@pohf/protocol/probes'
import type { TelemetryEvent } from '@pohf/protocol/telemetry'
import {
  deviceScores,
  evaluateAttention,
  focusScore,
  historyScore,
  probeScore,
  requiredVisibleMs,
} from '@pohf/scorer'
import { openSession, type Target } from '../protocol/client.ts'
import type { Bot } from './bot.ts'
import { claimedEnvironment } from './environment.ts'

const sessionMsMax = 120_000
/** An answer within 250 ms of the question counts as too early. */
const answerMs = probeWindows.choose.fromMs + 20
/** An answer must also reach the server within the window. */
const answerMsMax = probeWindows.choose.toMs - 1_000
/**
 * The server takes the shorter of the script's time and its own. Its own runs from its first receipt to the arrival of the
 * last chunk, so it is longer by one network round trip. The margin is for clocks that run at different speeds.
 */
const marginMs = 100

type Kind = NonNullable<Target['kind']>

/** Whether the rules verify a session of a stranger in which every question was answered rightly. */
const wouldBeVerified = (kind: Kind, hits: number, visibleMs: number): boolean =>
  evaluateAttention({
    components: {
      focus: focusScore(kind, Math.max(0, visibleMs - marginMs), false),
      probe: probeScore(hits, hits),
      input: null,
      gaze: null,
      device: deviceScores.none,
      history: historyScore(0, 0),
    },
    flags: [],
    probesOffered: hits,
    oneProbe: false,
    answerCorrect: null,
  }).verified

const stepMs = 10
/** The first moment at which so many right answers suffice; 0 where they never do. */
const verifiedFrom = (kind: Kind, hits: number): number => {
  const endMs = requiredVisibleMs[kind] + marginMs
  if (!wouldBeVerified(kind, hits, endMs)) return 0
  let ms = 0
  while (!wouldBeVerified(kind, hits, ms)) ms += stepMs
  return ms
}

/** The word to choose is in the sentence. */
const answerEvents = (probe: Probe, shownAt: number, t: number): TelemetryEvent[] => [
  { type: 'shown', t: shownAt, probe: probe.id },
  ...(probe.kind === 'choose'
    ? [
        {
          type: 'choose' as const,
          t,
          probe: probe.id,
          how: 'k' as const,
          trusted: true,
          choice: probe.choices.findIndex((word) => probe.say.includes(word)),
        },
      ]
    : []),
]

/**
 * The leanest session that is verified. The answer that completes the evidence is held back until the page would have been
 * seen for long enough: an earlier one only brings another question.
 */
export const leanScript: Bot = async ({ target, signal }) => {
  const kind = target.kind ?? 'view'
  const session = await openSession({ ...target, words: true }, claimedEnvironment)
  const startedAt = performance.now()
  const now = () => Math.round(performance.now() - startedAt)
  let { receipt } = session
  let [probes, answered] = [0, 0]
  let events: TelemetryEvent[] = [
    { type: 'focus', t: 0, visible: true, focused: true, share: 100 },
    { type: 'alternative', t: 1 },
  ]
  await sleep(2)
  while (now() < sessionMsMax) {
    if (receipt.probe) {
      probes += 1
      const shownAt = now()
      const waitMs = Math.max(answerMs, verifiedFrom(kind, answered + 1) - shownAt)
      await sleep(Math.min(answerMsMax, waitMs), undefined, { signal })
      events = [...events, ...answerEvents(receipt.probe, shownAt, now())]
      if (receipt.probe.kind === 'choose') answered += 1
    }
    if (wouldBeVerified(kind, answered, now())) break
    receipt = await session.send(events, now())
    events = []
    if (!receipt.probe) await sleep(receipt.nextMs, undefined, { signal })
  }
  return { sessionId: session.sessionId, status: await session.finish(events, now()), probes, answered }
}
