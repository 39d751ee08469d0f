import type { CallOutcome } from '../verify-load/calls.ts'

/** What was recorded in one run of a fault. Times are those of `performance.now()`. */
export type RunRecord = {
  readonly beganAt: number
  readonly endedAt: number
  readonly observedUntil: number
  readonly calls: readonly CallOutcome[]
  /** When a request for the public keys failed. */
  readonly failedKeyRequests: readonly number[]
  /** Credentials that clients hold. */
  readonly acknowledged: number
  /** Acknowledged, and not stored as it was. */
  readonly lost: number
  /** Charged twice, charged without a credential, or two credentials for a session. */
  readonly doubled: number
  /** Calls succeed again. */
  readonly isRecovered: boolean
  /** The cluster has a leader and two replicas again. */
  readonly isWhole: boolean
  /** Processes of the service that ended: somebody would have to start them. */
  readonly endedProcesses: readonly string[]
  /** What else does not add up. */
  readonly faults: readonly string[]
}

export type RunFigures = {
  readonly acknowledged: number
  readonly lost: number
  readonly doubled: number
  readonly succeeded: number
  readonly status503: number
  /** 503 without the JSON that the service's own has. */
  readonly status503NotJson: number
  readonly otherRefusals: number
  /** Answers other than 200, 202, 4xx and 503, and calls without an answer. */
  readonly forbidden: number
  readonly longestCallMs: number
  /** The longest time without a 200, from the last one before the fault on. */
  readonly gapMs: number
}

/** Fewer calls during a run say nothing about it. */
const callsMin = 50

/** The longest time between two 200s, or between the last one and the end of the observation. */
const longestGapOf = ({ beganAt, observedUntil, calls }: RunRecord): number => {
  const times = calls
    .filter(({ status }) => status === 200)
    .map(({ endedAt }) => endedAt)
    .toSorted((a, b) => a - b)
  const before = times.findLast((time) => time <= beganAt) ?? beganAt
  const marks = [before, ...times.filter((time) => time > beganAt && time <= observedUntil), observedUntil]
  return marks.reduce((longest, mark, index) => Math.max(longest, mark - (marks[index - 1] ?? mark)), 0)
}

const isAllowed = ({ status }: CallOutcome): boolean =>
  status === 200 || status === 202 || status === 503 || (status >= 400 && status < 500)

export const figuresOf = (record: RunRecord): RunFigures => {
  const since = record.calls.filter(({ endedAt }) => endedAt >= record.beganAt)
  const count = (isCounted: (call: CallOutcome) => boolean) => since.filter(isCounted).length
  return {
    acknowledged: record.acknowledged,
    lost: record.lost,
    doubled: record.doubled,
    succeeded: count(({ status }) => status === 200),
    status503: count(({ status }) => status === 503),
    status503NotJson: count(({ status, error }) => status === 503 && error === ''),
    otherRefusals: count(({ status }) => status >= 400 && status < 500),
    forbidden: record.calls.filter((call) => !isAllowed(call)).length,
    longestCallMs: since.reduce((most, call) => Math.max(most, call.endedAt - call.startedAt), 0),
    gapMs: longestGapOf(record),
  }
}

/** The forbidden answers, with their numbers. */
const forbiddenOf = ({ calls }: RunRecord): string =>
  [
    ...Map.groupBy(
      calls.filter((call) => !isAllowed(call)),
      ({ status, error }) => `${status} ${error}`.trim(),
    ),
  ]
    .map(([answer, { length }]) => `${length} × ${answer}`)
    .join(', ')

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`

/** The reasons why a run does not hold; none where all is well. */
export const findBrokenBounds = (record: RunRecord, gapMsMax: number): string[] => {
  const found = figuresOf(record)
  const checks: readonly (readonly [isBroken: boolean, reason: string])[] = [
    [record.calls.length < callsMin, `only ${record.calls.length} calls: this says nothing`],
    [found.succeeded === 0, 'no call succeeded from the fault on'],
    [found.lost > 0, `${found.lost} acknowledged credentials are not stored`],
    [found.doubled > 0, `${found.doubled} charges or credentials are double or unmatched`],
    [found.forbidden > 0, `answers other than 200, 202, 4xx and 503: ${forbiddenOf(record)}`],
    [found.status503NotJson > 0, `${found.status503NotJson} answers 503 have no JSON of ours`],
    [found.gapMs > gapMsMax, `no 200 for ${seconds(found.gapMs)}, more than ${seconds(gapMsMax)}`],
    [
      record.failedKeyRequests.length > 0,
      `${record.failedKeyRequests.length} requests for the public keys failed`,
    ],
    [!record.isRecovered, 'verify did not work again by itself'],
    [!record.isWhole, 'the cluster did not get a leader and two replicas again by itself'],
    [record.endedProcesses.length > 0, `these processes ended: ${record.endedProcesses.join(', ')}`],
  ]
  return [...checks.filter(([isBroken]) => isBroken).map(([, reason]) => reason), ...record.faults]
}
