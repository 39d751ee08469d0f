/** How the probes of a recorded session were answered. No dependencies, as in telemetry.ts. */
import type { ProbeTruth, TelemetryChunk, TelemetryEvent, TelemetryRecord } from './telemetry.ts'

/** Windows for an answer, counted from when the probe was painted. */
export const probeWindows = {
  point: { fromMs: 250, toMs: 2_500 },
  choose: { fromMs: 250, toMs: 6_000 },
} as const
/** How much the network may add to an answer's window by the server's clock. */
const deliveryMs = 3_000

type ProbeCount = { readonly asked: number; readonly hit: number }

/** The claim `probes` of a credential in words; undefined where no question was asked. */
export const probesText = (probes: {
  readonly pictures: ProbeCount
  readonly words: ProbeCount
}): string | undefined => {
  const { pictures, words } = probes
  const parts = [
    ...(pictures.asked > 0 ? [`${pictures.hit} of ${pictures.asked} with pictures`] : []),
    ...(words.asked > 0 ? [`${words.hit} of ${words.asked} in words`] : []),
  ]
  return parts.length === 0 ? undefined : `Questions answered right: ${parts.join(', ')}.`
}

/** A record with its parsed chunk. */
export type ReadRecord = {
  readonly chunk: TelemetryChunk
  readonly receivedAt: number
  readonly after: TelemetryRecord['after']
}
export type ProbeOutcome = {
  readonly probe: ProbeTruth
  /** `late` also where the answer is in time by the page's clock and not by the server's. */
  readonly result: 'hit' | 'wrong' | 'early' | 'late' | 'unanswered'
  readonly shownAt: number | null
  readonly reactionMs: number | null
}

const isRight = (truth: ProbeTruth, answer: TelemetryEvent): boolean => {
  if (truth.kind === 'choose') return answer.type === 'choose' && answer.choice === truth.choice
  return answer.type === 'point' && (answer.x - truth.x) ** 2 + (answer.y - truth.y) ** 2 <= truth.radius ** 2
}

const evaluateProbe = (truth: ProbeTruth, askedAt: number, rest: readonly ReadRecord[]): ProbeOutcome => {
  const seen = rest.flatMap(({ chunk, receivedAt }) => chunk.events.map((event) => ({ event, receivedAt })))
  const shown = seen.find(({ event }) => event.type === 'shown' && event.probe === truth.id)
  const answer = seen.find(
    ({ event }) => (event.type === 'point' || event.type === 'choose') && event.probe === truth.id,
  )
  const shownAt = shown?.event.t ?? null
  if (shownAt === null || !answer) return { probe: truth, result: 'unanswered', shownAt, reactionMs: null }
  const reactionMs = answer.event.t - shownAt
  const isLate = reactionMs > truth.toMs || answer.receivedAt - askedAt > truth.toMs + deliveryMs
  const result =
    reactionMs < truth.fromMs ? 'early' : isLate ? 'late' : isRight(truth, answer.event) ? 'hit' : 'wrong'
  return { probe: truth, result, shownAt, reactionMs }
}

/**
 * A person who requests probes without pointing cannot answer the open one: it is withdrawn and does not count. Only the
 * open one, and only within its window; otherwise the request would erase earlier misses.
 */
const isWithdrawnProbe = (outcome: ProbeOutcome, askedAt: number, until: readonly ReadRecord[]): boolean =>
  outcome.probe.kind === 'point' &&
  outcome.result === 'unanswered' &&
  until.some(
    ({ chunk, receivedAt }) =>
      receivedAt - askedAt <= outcome.probe.toMs + deliveryMs &&
      chunk.events.some(({ type }) => type === 'alternative'),
  )

/** The outcome of every probe of a session, in order. The records must be complete and in order. */
export const probeOutcomes = (records: readonly ReadRecord[]): ProbeOutcome[] =>
  records.flatMap(({ after }, index) => {
    if (after.probe === null) return []
    // Twelve chunks are longer than any window: a later answer would be late.
    const rest = records.slice(index, index + 12)
    const next = rest.findIndex((record, offset) => offset > 0 && record.after.probe !== null)
    const outcome = evaluateProbe(after.probe, after.at, rest)
    return isWithdrawnProbe(outcome, after.at, next === -1 ? rest : rest.slice(0, next)) ? [] : [outcome]
  })
