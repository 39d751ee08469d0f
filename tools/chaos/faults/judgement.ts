import type { CallOutcome } from '../verify-load/calls.ts'

/** One question to `/readyz`. */
export type ReadinessProbe = {
  readonly startedAt: number
  readonly endedAt: number
  /** 0 where there was no answer. */
  readonly status: number
}

/** What was recorded while a fault took place. Times are those of `performance.now()`. */
export type FaultRecord = {
  readonly beganAt: number
  readonly endedAt: number
  readonly observedUntil: number
  readonly calls: readonly CallOutcome[]
  readonly probes: readonly ReadinessProbe[]
  readonly lost: number
  /** Charged twice, charged without a credential, or two credentials for a session. */
  readonly doubled: number
  readonly undelivered: number
  /** Interventions of the battery that a running service should not need. */
  readonly restartedByHand: number
  /** What else does not add up. */
  readonly faults: readonly string[]
  /**
   * An unplanned fault may refuse calls with 503. A planned stop fails no call: whoever meets a closed listener connects
   * again, and behind a load balancer nobody does.
   */
  readonly kind: 'unplanned' | 'stop' | 'rolling'
}

export type FaultFigures = {
  /** Calls that were in progress during the fault. */
  readonly calls: number
  /** Calls that were answered 200, from the begin of the fault on. */
  readonly succeeded: number
  readonly status500: number
  readonly status503: number
  readonly otherErrors: number
  /** Calls that a server accepted and did not answer completely. */
  readonly unanswered: number
  /** Calls that met a closed listener. */
  readonly refused: number
  readonly longestCallMs: number
  /** The longest time in which `/readyz` said the contrary of what verify did, or did not answer. */
  readonly readinessMs: number
  /** From the end of the fault until verify works and no call fails any more. Infinity if that was not seen. */
  readonly recoveryMs: number
  readonly lost: number
  readonly doubled: number
  readonly undelivered: number
  readonly restartedByHand: number
}

export const bounds = {
  readinessMs: 5_000,
  recoveryMs: 15_000,
  /** A call waits for a connection, then for a statement; each has its deadline. */
  callMs: 15_000,
  /** A probe that is not answered in this time has told nothing. */
  probeMs: 5_000,
  /** Fewer calls during a fault say nothing about it. */
  callsMin: 5,
} as const

/** Of any number of values: spread arguments are limited. */
const maxOf = (values: readonly number[], least: number): number =>
  values.reduce((most, value) => Math.max(most, value), least)

type Span = readonly [from: number, to: number]

/** A pause between two successes that is shorter is a busy machine. */
const outageMsMin = 1_000

/** The times without a success. */
const outagesOf = ({ beganAt, observedUntil, calls }: FaultRecord): Span[] => {
  const successes = calls
    .filter(({ status, endedAt }) => status === 200 && endedAt >= beganAt && endedAt <= observedUntil)
    .map(({ endedAt }) => endedAt)
    .toSorted((a, b) => a - b)
  const marks = [beganAt, ...successes, observedUntil]
  return marks
    .slice(1)
    .map((mark, index): Span => [marks[index] ?? mark, mark])
    .filter(([from, to]) => to - from >= outageMsMin)
}

const intersect = ([from, to]: Span, others: readonly Span[]): Span[] =>
  others
    .map(([start, end]): Span => [Math.max(from, start), Math.min(to, end)])
    .filter(([start, end]) => end > start)

const subtract = (span: Span, others: readonly Span[]): Span[] =>
  others.reduce<Span[]>(
    (left, [start, end]) =>
      left.flatMap(([from, to]) =>
        [[from, Math.min(to, start)] as const, [Math.max(from, end), to] as const].filter(
          ([begin, stop]) => stop > begin,
        ),
      ),
    [span],
  )

const longestOf = (spans: readonly Span[]): number => {
  let [longest, from, to] = [0, NaN, NaN]
  for (const [start, end] of spans.toSorted(([a], [b]) => a - b)) {
    if (!(start <= to + 1)) from = start
    to = Number.isNaN(to) ? end : Math.max(to, end)
    longest = Math.max(longest, to - from)
  }
  return longest
}

/** Each answer of `/readyz` holds until the next one. It is untrue where it says 200 in an outage, or another status outside. */
const untruthMsOf = (record: FaultRecord): number => {
  const outages = outagesOf(record)
  const spans = record.probes.flatMap((probe, index): Span[] => {
    if (probe.status === 0 && probe.endedAt - probe.startedAt >= bounds.probeMs)
      return intersect([probe.startedAt, probe.endedAt], [[record.beganAt, record.observedUntil]])
    const until = record.probes[index + 1]?.endedAt ?? record.observedUntil
    const held = intersect([probe.endedAt, until], [[record.beganAt, record.observedUntil]])
    return held.flatMap((span) => (probe.status === 200 ? intersect(span, outages) : subtract(span, outages)))
  })
  return longestOf(spans)
}

/**
 * Accepted, and without a complete answer; a closed listener accepts nothing. A listener that closes resets new
 * connections that wait in its queue, which a client cannot tell from a closed one. Most calls use kept connections, so a
 * server that drops what it has accepted is found by those.
 */
const isUnanswered = ({ status, error }: CallOutcome, kind: FaultRecord['kind']): boolean =>
  status === 0 && error !== 'ECONNREFUSED' && !(kind === 'stop' && error === 'ECONNRESET')

const isFailed = ({ status }: CallOutcome): boolean => status === 0 || status >= 500

const recoveryMsOf = ({ calls, endedAt }: FaultRecord): number => {
  const after = calls.filter((call) => call.endedAt >= endedAt)
  const lastFailure = maxOf(
    after.filter(isFailed).map((call) => call.endedAt),
    endedAt,
  )
  return after
    .filter((call) => call.status === 200 && call.endedAt >= lastFailure)
    .reduce((first, call) => Math.min(first, call.endedAt - endedAt), Infinity)
}

export const figuresOf = (record: FaultRecord): FaultFigures => {
  const affected = record.calls.filter(({ endedAt }) => endedAt >= record.beganAt)
  const count = (isCounted: (call: CallOutcome) => boolean) => affected.filter(isCounted).length
  return {
    calls: count(({ startedAt }) => startedAt <= Math.max(record.endedAt, record.beganAt + 1_000)),
    succeeded: count(({ status }) => status === 200),
    status500: count(({ status }) => status === 500),
    status503: count(({ status }) => status === 503),
    otherErrors: count(({ status }) => status > 500 && status !== 503),
    unanswered: count((call) => isUnanswered(call, record.kind)),
    refused: count((call) => call.status === 0 && !isUnanswered(call, record.kind)),
    longestCallMs: maxOf(
      affected.map((call) => call.endedAt - call.startedAt),
      0,
    ),
    readinessMs: record.kind === 'unplanned' ? untruthMsOf(record) : 0,
    recoveryMs: record.kind === 'unplanned' ? recoveryMsOf(record) : 0,
    lost: record.lost,
    doubled: record.doubled,
    undelivered: record.undelivered,
    restartedByHand: record.restartedByHand,
  }
}

/** The errors of unanswered calls, with their numbers. */
const errorsOf = ({ calls, beganAt, kind }: FaultRecord): string => {
  const unanswered = calls.filter((call) => call.endedAt >= beganAt && isUnanswered(call, kind))
  return [...Map.groupBy(unanswered, ({ error }) => error)]
    .map(([error, { length }]) => `${length} ${error}`)
    .join(', ')
}

const seconds = (ms: number): string =>
  Number.isFinite(ms) ? `${(ms / 1_000).toFixed(1)} s` : 'never in the time of observation'

/** The reasons why the figures break a bound; none where all hold. `slack` multiplies the bounds of time. */
export const findBrokenBounds = (record: FaultRecord, slack: number): string[] => {
  const found = figuresOf(record)
  const planned = record.kind !== 'unplanned'
  const checks: readonly (readonly [broken: boolean, reason: string])[] = [
    [found.calls < bounds.callsMin, `only ${found.calls} calls during the fault: this says nothing`],
    [found.succeeded === 0, 'no call succeeded'],
    [found.status500 > 0, `${found.status500} calls were answered 500`],
    [found.otherErrors > 0, `${found.otherErrors} calls were answered with another 5xx than 500 and 503`],
    [planned && found.status503 > 0, `${found.status503} calls were answered 503 in a planned stop`],
    [
      found.unanswered > 0,
      `${found.unanswered} calls were accepted and got no complete answer: ${errorsOf(record)}`,
    ],
    [
      record.kind !== 'stop' && found.refused > 0,
      `${found.refused} calls met a closed listener although it should be open`,
    ],
    [found.longestCallMs > bounds.callMs * slack, `a call hung for ${seconds(found.longestCallMs)}`],
    [found.readinessMs > bounds.readinessMs * slack, `/readyz was untrue for ${seconds(found.readinessMs)}`],
    [found.recoveryMs > bounds.recoveryMs * slack, `verify worked again after: ${seconds(found.recoveryMs)}`],
    [found.lost > 0, `${found.lost} acknowledged credentials are not stored`],
    [found.doubled > 0, `${found.doubled} charges or credentials are double or unmatched`],
    [found.undelivered > 0, `${found.undelivered} events were not delivered`],
    [found.restartedByHand > 0, `${found.restartedByHand} restarts by hand`],
  ]
  return [...checks.filter(([broken]) => broken).map(([, reason]) => reason), ...record.faults]
}
