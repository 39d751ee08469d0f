import { AsTable } from '../../shared/plots/as-table.tsx'
import { formatCount, formatUnit } from '../../shared/plots/scale.ts'
import type { Attention } from '../wire.ts'
import { axisMarks, bottomOf, isAlone, isHourly, labelsOf, lineOf, type Point } from './quality-points.ts'

const height = 220
const wide = 1_000

const AxisLabels = ({ values, yOf }: { values: readonly number[]; yOf: (value: number) => number }) => (
  <svg class="plot" height={height + 24} aria-hidden="true">
    {values.map((value) => (
      <text key={value} class="t3 end" x="32" y={yOf(value) + 4}>
        {value === 1 || value === 0 ? value : formatUnit(value)}
      </text>
    ))}
  </svg>
)

type PlotPoints = {
  readonly series: readonly Point[]
  readonly xOf: (index: number) => number
  readonly yOf: (value: number) => number
}
const percentOf = (x: number): string => `${((100 * x) / wide).toFixed(2)}%`

/** Days or hours below the plot; a phone has room for the first, the middle and the last. */
const TimeLabels = ({ series, xOf }: PlotPoints) => {
  const labelOf = labelsOf(series)
  return (
    <>
      {axisMarks(series.length).map(({ index, anchor, isExtra }) => (
        <text
          key={index}
          class={`t3 ${anchor} ${isExtra ? 'wide-text' : ''}`}
          x={percentOf(xOf(index))}
          y={height + 20}
        >
          {labelOf(series[index]?.at ?? '')}
        </text>
      ))}
    </>
  )
}

/** The last value in figures, and a dot for each value without a neighbour, which no line shows. */
const Dots = ({ series, xOf, yOf }: PlotPoints) => {
  const last = series.findLastIndex(({ quality }) => quality !== null)
  const quality = series[last]?.quality ?? null
  return (
    <>
      {series.map((point, index) =>
        point.quality !== null && (isAlone(series, index) || index === last) ? (
          <circle key={point.at} class="p1" cx={percentOf(xOf(index))} cy={yOf(point.quality)} r="3.5" />
        ) : null,
      )}
      {quality === null ? null : (
        <text
          class={`strong t1 ${xOf(last) > wide / 10 ? 'end' : ''}`}
          x={percentOf(xOf(last))}
          y={Math.max(12, yOf(quality) - 10)}
        >
          {formatUnit(quality)}
        </text>
      )}
    </>
  )
}

/** The average quality of each hour or day, with the quality that a view needs. */
export const QualityPlot = ({ attention }: { attention: Attention }) => {
  const { series, threshold } = attention
  const bottom = bottomOf(series)
  const yOf = (value: number) => ((1 - value) / (1 - bottom)) * height
  const xOf = (index: number) => (index / Math.max(1, series.length - 1)) * wide
  const labelOf = labelsOf(series)
  const last = series.findLast(({ quality }) => quality !== null)
  const marks = [1, 0.8, 0.6, 0.4, 0.2, 0].filter((value) => value >= bottom - 1e-9)
  const bucket = isHourly(series) ? 'hour' : 'day'
  return (
    <>
      <p class="muted small">
        The average of each {bucket} in UTC, from 0 to 1. A {bucket} without a scored view has no point.
      </p>
      <div class="with-axis">
        <AxisLabels values={marks} yOf={yOf} />
        <svg
          class="plot"
          height={height + 24}
          role="img"
          aria-label={`Average quality over ${series.length} ${bucket}s in UTC, at the end ${last?.quality === null || last === undefined ? 'unknown' : formatUnit(last.quality)}. A view is verified from ${formatUnit(threshold)}.`}
        >
          {marks.map((value) => (
            <line key={value} class="grid" x1="0" x2="100%" y1={yOf(value)} y2={yOf(value)} />
          ))}
          <line class="threshold" x1="0" x2="100%" y1={yOf(threshold)} y2={yOf(threshold)} />
          <svg width="100%" height={height} viewBox={`0 0 ${wide} ${height}`} preserveAspectRatio="none">
            <path class="line-1" d={lineOf(series, xOf, yOf)} />
          </svg>
          <text class="on-line" x="0" y={yOf(threshold) + 16}>
            verified from {formatUnit(threshold)}
          </text>
          <Dots series={series} xOf={xOf} yOf={yOf} />
          <TimeLabels series={series} xOf={xOf} yOf={yOf} />
        </svg>
      </div>
      <AsTable
        label="Quality over time"
        head={[`${bucket === 'hour' ? 'Hour' : 'Day'} (UTC)`, 'Quality', 'Views', 'Verified', 'Refused']}
        rows={series.map(({ at, quality, views, verified, rejected }) => [
          labelOf(at),
          quality === null ? '–' : formatUnit(quality),
          ...[views, verified, rejected].map(formatCount),
        ])}
      />
    </>
  )
}
