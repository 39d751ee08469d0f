import { AsTable } from './as-table.tsx'
import { formatCount, formatShare, formatUnit } from './scale.ts'

const height = 256
const base = 226
const top = 44

/** How values between 0 and 1 are distributed, with the value below which sessions are refused. */
export const Histogram = (props: { bins: readonly number[]; minimum: number; label: string }) => {
  const { bins, minimum, label } = props
  const total = bins.reduce((sum, count) => sum + count, 0)
  const most = Math.max(1, ...bins)
  const step = 100 / bins.length
  const lower = (index: number) => index / bins.length
  const below = bins
    .filter((_, index) => lower(index) < minimum - 1e-9)
    .reduce((sum, count) => sum + count, 0)
  return (
    <>
      <svg class="plot" height={height} role="img" aria-label={label}>
        {[75, 120, 165].map((y) => (
          <line key={y} class="grid" x1="0" x2="100%" y1={y} y2={y} />
        ))}
        {bins.map((count, index) => {
          const tall = count === 0 ? 0 : Math.max(1.5, (count / most) * (base - top))
          return (
            <rect
              key={lower(index)}
              class={lower(index) < minimum - 1e-9 ? 'p0' : 'p1'}
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
      </svg>
      <AsTable
        label="Quality of sessions"
        head={['Quality from', 'Sessions', 'Share']}
        rows={bins.map((count, index) => [
          lower(index) === 0 ? '0' : formatUnit(lower(index)),
          formatCount(count),
          formatShare(total === 0 ? 0 : count / total),
        ])}
      />
    </>
  )
}
