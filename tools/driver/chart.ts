type Line = { readonly name: string; readonly points: readonly (readonly [number, number])[] }
type Chart = {
  readonly title: string
  readonly xName: string
  readonly yName: string
  readonly lines: readonly Line[]
}

const [width, height, left, top, right, bottom] = [760, 420, 70, 50, 200, 50]
const colours = ['#0b6e4f', '#c1440e', '#5c6b73', '#9a6d9e']
const dashes = ['', '', '6 4', '6 4']

const niceStep = (top: number): number => {
  const raw = top / 5
  const power = 10 ** Math.floor(Math.log10(raw))
  return ([1, 2, 5, 10].find((step) => step * power >= raw) ?? 10) * power
}

const text = (at: readonly [number, number], words: string, more = ''): string =>
  `<text x="${at[0].toFixed(1)}" y="${at[1].toFixed(1)}" ${more}>${words}</text>`

/** Lines over a logarithmic x axis, as SVG that reads on light and dark. */
export const drawLineChart = ({ title, xName, yName, lines }: Chart): string => {
  const all = lines.flatMap((line) => line.points)
  const xs = [...new Set(all.map(([x]) => x))].toSorted((a, b) => a - b)
  const step = niceStep(Math.max(1, ...all.map(([, y]) => y)))
  const yMax = step * Math.ceil(Math.max(1, ...all.map(([, y]) => y)) / step)
  const [first = 1, last = 2] = [xs[0], xs.at(-1)]
  const x = (value: number) =>
    left +
    ((Math.log2(value) - Math.log2(first)) / Math.max(1, Math.log2(last) - Math.log2(first))) *
      (width - left - right)
  const y = (value: number) => height - bottom - (value / yMax) * (height - top - bottom)
  const ticks = Array.from({ length: Math.round(yMax / step) + 1 }, (_, n) => n * step)
  const grid = ticks.map(
    (value) =>
      `<line x1="${left}" x2="${width - right}" y1="${y(value).toFixed(1)}" y2="${y(value).toFixed(1)}" stroke="#8886"/>` +
      text([left - 8, y(value) + 4], value.toLocaleString('en'), 'text-anchor="end"'),
  )
  const marks = xs.map((value) =>
    text([x(value), height - bottom + 20], String(value), 'text-anchor="middle"'),
  )
  const drawn = lines.map((line, index) => {
    const colour = colours[index % colours.length]
    const path = line.points.map(([a, b]) => `${x(a).toFixed(1)},${y(b).toFixed(1)}`).join(' ')
    const key = top + 20 + index * 24
    return (
      `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2.5" stroke-dasharray="${dashes[index % dashes.length]}"/>` +
      line.points
        .map(([a, b]) => `<circle cx="${x(a).toFixed(1)}" cy="${y(b).toFixed(1)}" r="3.5" fill="${colour}"/>`)
        .join('') +
      `<line x1="${width - right + 16}" x2="${width - right + 44}" y1="${key}" y2="${key}" stroke="${colour}" stroke-width="2.5" stroke-dasharray="${dashes[index % dashes.length]}"/>` +
      text([width - right + 52, key + 4], line.name)
    )
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}" font-family="system-ui, sans-serif" font-size="12" fill="#777">
<title>${title}</title>
${text([left, 26], title, 'font-size="16"')}
${grid.join('\n')}
${marks.join('\n')}
${text([(left + width - right) / 2, height - 10], xName, 'text-anchor="middle"')}
${text([left, 44], yName)}
${drawn.join('\n')}
</svg>
`
}

/** What happened to one thing over time; times in seconds. */
export type TimelineRow = {
  readonly name: string
  /** When something succeeded and when it failed: counts in each second, upwards and downwards. */
  readonly succeeded: readonly number[]
  readonly failed?: readonly number[]
  /** Named times, shaded. */
  readonly spans?: readonly { readonly name: string; readonly from: number; readonly to: number }[]
}

const rowHeight = 110
const spanColours = ['#9a6d9e', '#c1440e', '#1f6fb2', '#b8860b', '#5c6b73']

const countSeconds = (times: readonly number[]): [second: number, count: number][] =>
  [...Map.groupBy(times, (time) => Math.floor(time))].map(([second, { length }]) => [second, length])

/** Successes upwards and failures downwards, a row for each thing, as SVG that reads on light and dark. */
export const drawTimeline = (title: string, rows: readonly TimelineRow[]): string => {
  const times = rows.flatMap(({ succeeded, failed = [], spans = [] }) => [
    ...succeeded,
    ...failed,
    ...spans.flatMap(({ from, to }) => [from, Number.isFinite(to) ? to : from]),
  ])
  const first = times.reduce((least, time) => Math.min(least, Math.floor(time)), 0)
  const last = times.reduce((most, time) => Math.max(most, Math.ceil(time)), 10)
  const most = Math.max(1, ...rows.flatMap((row) => countSeconds(row.succeeded).map(([, count]) => count)))
  const x = (second: number) => left + ((second - first) / (last - first)) * (width - left - 20)
  const names = [...new Set(rows.flatMap(({ spans = [] }) => spans.map(({ name }) => name)))]
  const colourOf = (name: string) => spanColours[names.indexOf(name) % spanColours.length] ?? ''
  const bars = (counts: readonly [number, number][], middle: number, colour: string) =>
    counts.map(([second, count]) => {
      const isDown = colour === colours[1]
      const size = Math.min(1, count / most) * (isDown ? 30 : 60)
      const barWidth = Math.max(0.5, x(second + 1) - x(second) - 0.3)
      return `<rect x="${x(second).toFixed(1)}" y="${(isDown ? middle : middle - size).toFixed(1)}" width="${barWidth.toFixed(1)}" height="${size.toFixed(1)}" fill="${colour}"/>`
    })
  const drawn = rows.flatMap(({ name, succeeded, failed = [], spans = [] }, index) => {
    const rowTop = top + 20 + index * rowHeight
    const middle = rowTop + 70
    return [
      ...spans.map(({ name: span, from, to }) => {
        const length = Math.max(2, x(Math.min(to, last)) - x(from))
        return `<rect x="${x(from).toFixed(1)}" y="${rowTop}" width="${length.toFixed(1)}" height="${rowHeight - 10}" fill="${colourOf(span)}" fill-opacity="0.3"/>`
      }),
      ...bars(countSeconds(succeeded), middle, colours[0] ?? ''),
      ...bars(countSeconds(failed), middle, colours[1] ?? ''),
      `<line x1="${left}" x2="${width - 20}" y1="${middle}" y2="${middle}" stroke="#8886"/>`,
      text([left - 8, middle - 4], name, 'text-anchor="end"'),
    ]
  })
  const key = [
    [`at most ${most}/s`, colours[0]] as const,
    ...names.map((name) => [name, colourOf(name)] as const),
  ]
  const tall = top + 60 + rows.length * rowHeight
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${tall}" role="img" aria-label="${title}" font-family="system-ui, sans-serif" font-size="12" fill="#777">
<title>${title}</title>
${text([left, 22], title, 'font-size="16"')}
${key.map(([words, colour], index) => text([left + (index % 4) * 170, 42 + Math.floor(index / 4) * 14], words, `style="fill:${colour}"`)).join('\n')}
${drawn.join('\n')}
${text([left, tall - 12], `${first} s`)}
${text([width - 20, tall - 12], `${last} s`, 'text-anchor="end"')}
</svg>
`
}
