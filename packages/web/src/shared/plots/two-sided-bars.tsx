import { AsTable } from './as-table.tsx'
import { formatCount, ticksUpTo } from './scale.ts'

export type BarPair = { readonly label: string; readonly above: number; readonly below: number }

const height = 256
/** Where the axis is when both sides have their usual share. */
const top = 16
const bottom = 234

type Layout = { readonly axis: number; readonly perUnit: number }

/** Both sides have one scale, so that a bar below can be compared with one above. */
const layoutOf = (bars: readonly BarPair[]): Layout => {
  const above = Math.max(1, ...bars.map((bar) => bar.above))
  const below = Math.max(0, ...bars.map((bar) => bar.below))
  // At least 30 px below the axis, for the name of the side.
  const room = Math.max(30, ((bottom - top) * below) / (above + below))
  const axis = bottom - room
  return { axis, perUnit: Math.min((axis - top) / above, below === 0 ? Infinity : room / below) }
}

const Bars = ({ bars, axis, perUnit }: Layout & { readonly bars: readonly BarPair[] }) => {
  const step = 100 / bars.length
  const length = (count: number) => (count === 0 ? 0 : Math.max(1.5, count * perUnit))
  return (
    <>
      {bars.map(({ label, above, below }, index) => {
        const place = { x: `${index * step + step * 0.13}%`, width: `${step * 0.74}%`, rx: 2 }
        return (
          <g key={label}>
            <rect class="p1" {...place} y={axis - length(above)} height={length(above)} />
            <rect class="ps" {...place} y={axis + 2} height={length(below)} />
          </g>
        )
      })}
    </>
  )
}

/** Labels below the bars: the first, some between, and the last, which is still running. */
const BarLabels = ({ bars, last }: { bars: readonly BarPair[]; last: string }) => {
  const every = Math.max(1, Math.ceil(bars.length / 4))
  return (
    <>
      {bars.map(({ label }, index) =>
        index % every === 0 && index <= bars.length - every ? (
          <text
            key={label}
            class={`t3 ${index === 0 ? '' : 'wide-text'}`}
            x={`${(100 * index) / bars.length}%`}
            y={height - 3}
          >
            {label}
          </text>
        ) : null,
      )}
      <text class="t3 end" x="100%" y={height - 3}>
        {last}
      </text>
    </>
  )
}

/** One count above an axis and another below it, for each day or hour. */
export const TwoSidedBars = (props: {
  bars: readonly BarPair[]
  names: readonly [bucket: string, above: string, below: string]
  /** The name of the last bucket, which is not over. */
  last: string
  /** What the plot shows, in a sentence with its figures. */
  label: string
}) => {
  const { bars, names, last, label } = props
  const { axis, perUnit } = layoutOf(bars)
  const most = Math.max(0, ...bars.map(({ above }) => above))
  const ticks = ticksUpTo(most, 3)
  return (
    <>
      <div class="with-axis">
        <svg class="plot" height={height} aria-hidden="true">
          {[0, ...ticks].map((tick) => (
            <text key={tick} class="t3 end" x="32" y={axis - tick * perUnit + 4}>
              {formatCount(tick)}
            </text>
          ))}
        </svg>
        <svg class="plot" height={height} role="img" aria-label={label}>
          {ticks.map((tick) => (
            <line
              key={tick}
              class="grid"
              x1="0"
              x2="100%"
              y1={axis - tick * perUnit}
              y2={axis - tick * perUnit}
            />
          ))}
          <line class="axis" x1="0" x2="100%" y1={axis + 0.5} y2={axis + 0.5} />
          <Bars bars={bars} axis={axis} perUnit={perUnit} />
          <text class="strong t1" x="0" y="12">
            {names[1]}
          </text>
          <text class="strong ts" x="0" y={axis + 28}>
            {names[2]}
          </text>
          <BarLabels bars={bars} last={last} />
        </svg>
      </div>
      <AsTable
        label={`${names[1]} and ${names[2].toLowerCase()}`}
        head={names}
        rows={bars.map(({ label: name, above, below }) => [name, formatCount(above), formatCount(below)])}
      />
    </>
  )
}
