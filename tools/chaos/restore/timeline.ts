import type { TimelineEvent } from './deployment.ts'

const [width, height, left, top, bottom] = [900, 360, 60, 150, 40]

/** Mints a second over time, with a vertical line for each event, as SVG that reads on light and dark. */
export const drawTimeline = (
  title: string,
  times: readonly number[],
  events: readonly TimelineEvent[],
): string => {
  const seconds = Math.ceil(Math.max(1, ...times, ...events.map(({ at }) => at)))
  const counts = Array.from({ length: seconds }, () => 0)
  for (const time of times) {
    const second = Math.floor(time)
    counts[second] = (counts[second] ?? 0) + 1
  }
  const most = Math.max(1, ...counts)
  const x = (second: number) => left + (second / seconds) * (width - left - 20)
  const y = (count: number) => height - bottom - (count / most) * (height - top - bottom)
  const bars = counts.map((count, second) =>
    count === 0
      ? ''
      : `<rect x="${x(second).toFixed(1)}" y="${y(count).toFixed(1)}" width="${Math.max(1, x(1) - x(0) - 0.5).toFixed(1)}" height="${(height - bottom - y(count)).toFixed(1)}" fill="#0b6e4f"/>`,
  )
  const lines = events.map(({ at, name }, index) => {
    const [from, line] = [x(at).toFixed(1), 44 + (index % 6) * 16]
    const anchor = at > seconds * 0.7 ? 'end' : 'start'
    return `<line x1="${from}" x2="${from}" y1="${line}" y2="${height - bottom}" stroke="#c1440e" stroke-dasharray="4 3"/><text x="${from}" y="${line - 3}" text-anchor="${anchor}">${name}, ${at.toFixed(0)} s</text>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}" font-family="system-ui, sans-serif" font-size="12" fill="#777">
<title>${title}</title>
<text x="${left}" y="22" font-size="16">${title}</text>
<line x1="${left}" x2="${width - 20}" y1="${height - bottom}" y2="${height - bottom}" stroke="#8886"/>
<text x="${left - 8}" y="${y(most) + 4}" text-anchor="end">${most}</text>
<text x="${left - 8}" y="${height - bottom + 4}" text-anchor="end">0</text>
<text x="${width - 20}" y="${height - 12}" text-anchor="end">${seconds} s</text>
${bars.filter((bar) => bar !== '').join('\n')}
${lines.join('\n')}
</svg>
`
}
