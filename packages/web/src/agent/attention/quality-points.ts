import { formatDay } from '../../shared/plots/scale.ts'
import type { Attention } from '../wire.ts'

export type Point = Attention['series'][number]

const hourMs = 3_600_000
/** A period of up to three days has a point for each hour; one of a single point is an hour, too. */
export const isHourly = ([first, second]: readonly Point[]): boolean =>
  first !== undefined && (second === undefined || Date.parse(second.at) - Date.parse(first.at) <= hourMs)

/** Hours have another label than days. */
export const labelsOf = (series: readonly Point[]): ((at: string) => string) =>
  isHourly(series) ? (at) => `${formatDay(at)} ${at.slice(11, 16)}` : formatDay

/** The lower end of the axis: .40, or lower where a value is. */
export const bottomOf = (series: readonly Point[]): number =>
  Math.max(0, Math.min(0.4, ...series.map(({ quality }) => Math.floor((quality ?? 1) * 10 - 0.5) / 10)))

const qualityAt = (series: readonly Point[], index: number): number | null => series[index]?.quality ?? null

/** Whether nothing was scored before and after it. */
export const isAlone = (series: readonly Point[], index: number): boolean =>
  qualityAt(series, index - 1) === null && qualityAt(series, index + 1) === null

/** A line that breaks where nothing was scored. */
export const lineOf = (
  series: readonly Point[],
  xOf: (index: number) => number,
  yOf: (value: number) => number,
): string =>
  series
    .map(({ quality }, index) =>
      quality === null || isAlone(series, index)
        ? ''
        : `${qualityAt(series, index - 1) === null ? 'M' : 'L'}${xOf(index).toFixed(1)} ${yOf(quality).toFixed(1)}`,
    )
    .join('')

type AxisMark = {
  readonly index: number
  readonly anchor: '' | 'middle' | 'end'
  /** Only a wide screen has room for it. */
  readonly isExtra: boolean
}

/** Which points of a time axis have a label: at most five, from the first to the last. */
export const axisMarks = (points: number): readonly AxisMark[] => {
  const last = points - 1
  const indexes = points === 0 ? [] : [0, 0.25, 0.5, 0.75, 1].map((share) => Math.round(share * last))
  return [...new Set(indexes)].map((index) => ({
    index,
    anchor: index === 0 ? '' : index === last ? 'end' : 'middle',
    isExtra: index !== 0 && index !== last && index !== Math.round(last / 2),
  }))
}
