// The cheapest way that we know: no browser, no pictures, no motion. The script asks for the accessible alternative, reads
// the word in the sentence, and ends at the first moment at which the published rules verify the session.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Probe } from '@pohf/protocol'
import { probeWindows } from '@pohf/protocol/probes'
import type { TelemetryEvent } from '@pohf/protocol/telemetry'
import { deviceScores, evaluateAttention, historyScore, probeScore, requiredVisibleMs } from '@pohf/scorer'
import { openSession, type Target } from '../protocol/client.ts'
import type { Bot } from './bot.ts'
import { claimedEnvironment } from './environment.ts'

const sessionMsMax = 120_000
/** An answer within 250 ms of the question counts as too early. */
const answerMs = probeWindows.choose.fromMs + 20
/** The server counts the time of the page from its own first receipt, which is a little later than the script's. */
const marginMs = 100

/** Whether the rules verify a session of a stranger in which every question was answered rightly. */
const wouldBeVerified = (kind: NonNullable<Target['kind']>, hits: number, visibleMs: number): boolean =>
  evaluateAttention({
    components: {
      focus: Math.min(1, Math.max(0, visibleMs - marginMs) / requiredVisibleMs[kind]),
      probe: probeScore(hits, hits),
      input: null,
      gaze: null,
      device: deviceScores.none,
      history: historyScore(0, 0),
    },
    flags: [],
    probesOffered: hits,
    answerCorrect: null,
  }).verified

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

/** The leanest session that is verified. */
export const leanScript: Bot = async ({ target, signal }) => {
  const session = await openSession(target, claimedEnvironment)
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
      await sleep(answerMs, undefined, { signal })
      events = answerEvents(receipt.probe, shownAt, now())
      if (receipt.probe.kind === 'choose') answered += 1
    }
    if (wouldBeVerified(target.kind ?? 'view', answered, now())) break
    receipt = await session.send(events, now())
    events = []
    if (!receipt.probe) await sleep(receipt.nextMs, undefined, { signal })
  }
  return { sessionId: session.sessionId, status: await session.finish(events, now()), probes, answered }
}
