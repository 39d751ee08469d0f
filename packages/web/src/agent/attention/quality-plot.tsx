import { AsTable } from '../../shared/plots/as-table.tsx'
import { formatCount, formatDay, formatUnit } from '../../shared/plots/scale.ts'
import type { Attention } from '../wire.ts'

const height = 220
const wide = 1_000

type Point = Attention['series'][number]

const hourMs = 3_600_000
/** Hours have another label than days. */
const isHourly = ([first, second]: readonly Point[]): boolean =>
  first !== undefined && second !== undefined && Date.parse(second.at) - Date.parse(first.at) <= hourMs

const labelsOf = (series: readonly Point[]): ((at: string) => string) =>
  isHourly(series) ? (at) => `${formatDay(at)} ${at.slice(11, 16)}` : formatDay

/** The lower end of the axis: .40, or lower where a value is. */
const bottomOf = (series: readonly Point[]): number =>
  Math.max(0, Math.min(0.4, ...series.map(({ quality }) => Math.floor((quality ?? 1) * 10 - 0.5) / 10)))

/** A line that breaks where nothing was scored. */
const lineOf = (
  series: readonly Point[],
  xOf: (index: number) => number,
  yOf: (value: number) => number,
): string =>
  series
    .map(({ quality }, index) => {
      if (quality === null) return ''
      const isStart = (series[index - 1]?.quality ?? null) === null
      const here = `${xOf(index).toFixed(1)} ${yOf(quality).toFixed(1)}`
      // A single point between gaps is drawn as a short line.
      const isAlone = isStart && (series[index + 1]?.quality ?? null) === null
      return `${isStart ? 'M' : 'L'}${here}${isAlone ? 'h2' : ''}`
    })
    .join('')

const AxisLabels = ({ values, yOf }: { values: readonly number[]; yOf: (value: number) => number }) => (
  <svg class="plot" height={height + 24} aria-hidden="true">
    {values.map((value) => (
      <text key={value} class="t3 end" x="32" y={yOf(value) + 4}>
        {value === 1 ? '1' : formatUnit(value)}
      </text>
    ))}
  </svg>
)

/** The average quality of each hour or day, with the quality that a view needs. */
export const QualityPlot = ({ attention }: { attention: Attention }) => {
  const { series, threshold } = attention
  const bottom = bottomOf(series)
  const yOf = (value: number) => ((1 - value) / (1 - bottom)) * height
  const xOf = (index: number) => (index / Math.max(1, series.length - 1)) * wide
  const labelOf = labelsOf(series)
  const last = series.findLast(({ quality }) => quality !== null)
  const marks = [1, 0.8, 0.6, 0.4, 0.2, 0].filter((value) => value >= bottom - 1e-9)
  return (
    <>
      <div class="with-axis">
        <AxisLabels values={marks} yOf={yOf} />
        <svg
          class="plot"
          height={height + 24}
          role="img"
          aria-label={`Average quality over ${series.length} ${isHourly(series) ? 'hours' : 'days'}, at the end ${last?.quality === null || last === undefined ? 'unknown' : formatUnit(last.quality)}. A view is verified from ${formatUnit(threshold)}.`}
        >
          {marks.map((value) => (
            <line key={value} class="grid" x1="0" x2="100%" y1={yOf(value)} y2={yOf(value)} />
          ))}
          <line class="threshold" x1="0" x2="100%" y1={yOf(threshold)} y2={yOf(threshold)} />
          <text x="0" y={yOf(threshold) + 16}>
            verified from {formatUnit(threshold)}
          </text>
          <svg width="100%" height={height} viewBox={`0 0 ${wide} ${height}`} preserveAspectRatio="none">
            <path class="line-1" d={lineOf(series, xOf, yOf)} />
          </svg>
          {last && last.quality !== null ? (
            <text class="strong t1 end" x="100%" y={Math.max(12, yOf(last.quality) - 10)}>
              {formatUnit(last.quality)}
            </text>
          ) : null}
          <text class="t3" x="0" y={height + 20}>
            {series[0] ? labelOf(series[0].at) : ''}
          </text>
          <text class="t3 end" x="100%" y={height + 20}>
            {series.length > 1 ? labelOf(series.at(-1)?.at ?? '') : ''}
          </text>
        </svg>
      </div>
      <AsTable
        label="Quality over time"
        head={[isHourly(series) ? 'Hour (UTC)' : 'Day (UTC)', 'Quality', 'Views', 'Verified', 'Refused']}
        rows={series.map(({ at, quality, views, verified, rejected }) => [
          labelOf(at),
          quality === null ? '–' : formatUnit(quality),
          ...[views, verified, rejected].map(formatCount),
        ])}
      />
    </>
  )
}
