import './plots.css'

const width = 200
const height = 40

const pathOf = (points: readonly (readonly [x: number, y: number])[]): string =>
  points.length === 0 ? '' : `M${points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join('L')}`

/** A line without axes for a tile; the figure above it says what counts. `forecast` continues it as a dashed line. */
export const TrendLine = (props: {
  values: readonly number[]
  tone: 'good' | 'bad' | 'plain'
  forecast?: readonly number[]
}) => {
  const { values, tone, forecast = [] } = props
  const all = [...values, ...forecast]
  const most = Math.max(1, ...all)
  const step = width / Math.max(1, all.length - 1)
  const points = all.map((value, index) => [index * step, 4 + (1 - value / most) * (height - 8)] as const)
  return (
    <svg
      class={`trend-line ${tone}`}
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <path d={pathOf(points.slice(0, values.length))} />
      {forecast.length === 0 ? null : <path class="forecast" d={pathOf(points.slice(values.length - 1))} />}
    </svg>
  )
}
