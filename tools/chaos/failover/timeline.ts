import type { FailoverRun } from './battery.ts'
import type { RunRecord } from './accounting.ts'

const [width, left, right, top, rowHeight, rowGap] = [900, 60, 20, 76, 44, 12]
const stepMs = 250
const colours = { success: '#0b6e4f', refusal: '#c1440e', fault: '#9a6d9e' }

const text = (x: number, y: number, words: string, more = ''): string =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${more}>${words}</text>`

const secondsOf = (ms: number) => ms / 1_000

type RecordedRun = FailoverRun & { readonly record: RunRecord }

/** How many calls ended in each step of time from the beginning of the fault on, by the number of the step. */
const countSteps = (
  { calls, beganAt }: RunRecord,
  isCounted: (status: number) => boolean,
): Map<number, number> => {
  const counts = new Map<number, number>()
  for (const { status, endedAt } of calls) {
    const step = Math.floor((endedAt - beganAt) / stepMs)
    if (isCounted(status)) counts.set(step, (counts.get(step) ?? 0) + 1)
  }
  return counts
}

const drawKey = ([colour, words]: readonly [string, string], index: number): string =>
  `<rect x="${left + index * 260}" y="42" width="12" height="12" fill="${colour}"/>` +
  text(left + 18 + index * 260, 52, words)

const drawKeys = (most: number): string =>
  [
    [colours.success, `200, at most ${most} in ${stepMs} ms`] as const,
    [colours.refusal, '503, downwards, same scale halved'] as const,
    [colours.fault, 'the fault; left: longest time without a 200'] as const,
  ]
    .map(drawKey)
    .join('\n')

/** For each run a row: acknowledgements upwards, refusals downwards, and the time of the fault shaded. */
export const drawTimeline = (title: string, all: readonly FailoverRun[]): string => {
  const runs = all.filter((run): run is RecordedRun => run.record !== undefined)
  const until = Math.ceil(
    Math.max(10, ...runs.map(({ record }) => secondsOf(record.observedUntil - record.beganAt))) + 2,
  )
  const from = -5
  const x = (seconds: number) => left + ((seconds - from) / (until - from)) * (width - left - right)
  const height = top + runs.length * (rowHeight + rowGap) + 40
  const steps = runs.flatMap(({ record }) => [...countSteps(record, (status) => status === 200).values()])
  const most = Math.max(1, ...steps)
  const barOf =
    (middle: number, colour: string, downwards: boolean) =>
    ([step, count]: [number, number]): string => {
      const second = (step * stepMs) / 1_000
      if (second < from || second >= until) return ''
      const size = Math.min(1, count / most) * (rowHeight / (downwards ? 3 : 1.5))
      const y = downwards ? middle : middle - size
      return `<rect x="${x(second).toFixed(1)}" y="${y.toFixed(1)}" width="${Math.max(1, x(stepMs / 1_000) - x(0) - 0.5).toFixed(1)}" height="${size.toFixed(1)}" fill="${colour}"/>`
    }
  const rowOf = (run: RecordedRun, index: number): string => {
    const { record } = run
    const rowTop = top + index * (rowHeight + rowGap)
    const middle = rowTop + rowHeight / 1.5
    const end = Math.max(0.15, secondsOf(record.endedAt - record.beganAt))
    const gap = run.figures === undefined ? '' : `${(run.figures.gapMs / 1_000).toFixed(1)} s`
    return [
      `<rect x="${x(0).toFixed(1)}" y="${rowTop}" width="${(x(end) - x(0)).toFixed(1)}" height="${rowHeight}" fill="${colours.fault}" fill-opacity="0.25"/>`,
      `<line x1="${x(0).toFixed(1)}" x2="${x(0).toFixed(1)}" y1="${rowTop}" y2="${rowTop + rowHeight}" stroke="${colours.fault}" stroke-width="2"/>`,
      ...[...countSteps(record, (status) => status === 200)].map(barOf(middle, colours.success, false)),
      ...[...countSteps(record, (status) => status !== 200 && status !== 402)].map(
        barOf(middle, colours.refusal, true),
      ),
      `<line x1="${left}" x2="${width - right}" y1="${middle.toFixed(1)}" y2="${middle.toFixed(1)}" stroke="#8886"/>`,
      text(left - 8, middle - 2, `run ${run.run}`, 'text-anchor="end"'),
      text(left - 8, middle + 12, gap, 'text-anchor="end" font-size="11"'),
    ].join('\n')
  }
  const every = until > 40 ? 10 : 5
  const ticks = Array.from({ length: Math.floor(until / every) + 2 }, (_, n) => (n - 1) * every).filter(
    (tick) => tick >= from && tick <= until,
  )
  const axis = ticks.map(
    (tick) =>
      `<line x1="${x(tick).toFixed(1)}" x2="${x(tick).toFixed(1)}" y1="${top - 6}" y2="${height - 36}" stroke="#8883"/>` +
      text(x(tick), height - 20, `${tick} s`, 'text-anchor="middle"'),
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}" font-family="system-ui, sans-serif" font-size="12" fill="#777">
<title>${title}</title>
${text(left, 26, title, 'font-size="16"')}
${drawKeys(most)}
${axis.join('\n')}
${runs.map(rowOf).join('\n')}
</svg>
`
}
