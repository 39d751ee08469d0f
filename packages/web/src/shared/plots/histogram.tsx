import { AsTable } from './as-table.tsx'
import { formatCount, formatShare, formatUnit, ticksUpTo } from './scale.ts'

const height = 256
const base = 226
const top = 44

type HistogramProps = {
  readonly bins: readonly number[]
  /** The value from which an entry is accepted. */
  readonly minimum: number
  /** What is counted: "Views". */
  readonly counted: string
  /** What the plot shows, in a sentence with its figures. */
  readonly label: string
}

const CountLabels = ({ ticks, yOf }: { ticks: readonly number[]; yOf: (count: number) => number }) => (
  <svg class="plot" height={height} aria-hidden="true">
    {[0, ...ticks].map((tick) => (
      <text key={tick} class="t3 end" x="44" y={yOf(tick) + 4}>
        {formatCount(tick)}
      </text>
    ))}
  </svg>
)

const ValueLabels = () => (
  <>
    {[0, 0.25, 0.5, 0.75, 1].map((value) => (
      <text
        key={value}
        class={`t3 ${value === 0 ? '' : value === 1 ? 'end' : 'middle'}`}
        x={`${value * 100}%`}
        y={height - 3}
      >
        {value === 0 || value === 1 ? value : formatUnit(value)}
      </text>
    ))}
  </>
)

/** How values between 0 and 1 are distributed, with the value below which they are refused. */
export const Histogram = ({ bins, minimum, counted, label }: HistogramProps) => {
  const total = bins.reduce((sum, count) => sum + count, 0)
  const most = Math.max(1, ...bins)
  const step = 100 / bins.length
  const lower = (index: number) => index / bins.length
  const isBelow = (index: number) => lower(index) < minimum - 1e-9
  const below = bins.filter((_, index) => isBelow(index)).reduce((sum, count) => sum + count, 0)
  const yOf = (count: number) => base - (count / most) * (base - top)
  const ticks = ticksUpTo(most, 4)
  return (
    <>
      <div class="with-axis counts">
        <CountLabels ticks={ticks} yOf={yOf} />
        <svg class="plot" height={height} role="img" aria-label={label}>
          {[0, ...ticks].map((tick) => (
            <line key={tick} class="grid" x1="0" x2="100%" y1={yOf(tick)} y2={yOf(tick)} />
          ))}
          {bins.map((count, index) => {
            const tall = count === 0 ? 0 : Math.max(1.5, base - yOf(count))
            return (
              <rect
                key={lower(index)}
                class={isBelow(index) ? 'p0' : 'p1'}
                x={`${index * step + step * 0.1}%`}
                width={`${step * 0.8}%`}
                y={base - tall}
                height={tall}
                rx="2"
              />
            )
          })}
          <line class="threshold" x1={`${minimum * 100}%`} x2={`${minimum * 100}%`} y1="0" y2={base} />
          <text class="end" x={`${minimum * 100}%`} dx="-7" y="11">
            minimum {formatUnit(minimum)}
          </text>
          <text class="strong end" x={`${minimum * 100}%`} dx="-7" y="29">
            {formatShare(total === 0 ? 0 : below / total)} below
          </text>
          <ValueLabels />
        </svg>
      </div>
      <AsTable
        label={`${counted} by quality`}
        head={['Quality from', counted, 'Share']}
        rows={bins.map((count, index) => [
          lower(index) === 0 ? '0' : formatUnit(lower(index)),
          formatCount(count),
          formatShare(total === 0 ? 0 : count / total),
        ])}
      />
    </>
  )
}
