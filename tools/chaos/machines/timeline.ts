import type { MachinesRecord } from './battery.ts'
import type { Kill } from './judgement.ts'

const [width, left, right, top, laneHeight] = [900, 60, 20, 84, 150]
const colours: Readonly<Record<Kill['part'], string>> = {
  api: '#1f6fb2',
  signer: '#b8860b',
  worker: '#9a6d9e',
  machine: '#c1440e',
}
const [successColour, failureColour] = ['#0b6e4f', '#c1440e']

const text = (x: number, y: number, words: string, more = ''): string =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${more}>${words}</text>`
const rect = (x: number, y: number, [w, h]: readonly [number, number], fill: string): string =>
  `<rect x="${x.toFixed(1)}" y="${y.toFixed(1)}" width="${w.toFixed(1)}" height="${h.toFixed(1)}" ${fill}/>`

const isSuccess = (status: number): boolean => status === 200
const isFailure = (status: number): boolean => status === 0 || status >= 500

/** How many calls to a machine ended in each second, by the number of the second. */
const countSeconds = (
  { calls, startedAt }: MachinesRecord,
  baseUrl: string,
  isCounted: (status: number) => boolean,
): [second: number, count: number][] => {
  const counted = calls.filter((call) => call.baseUrl === baseUrl && isCounted(call.status))
  const groups = Map.groupBy(counted, ({ endedAt }) => Math.floor((endedAt - startedAt) / 1_000))
  return [...groups].map(([second, { length }]) => [second, length])
}

type Scale = { readonly x: (ms: number) => number; readonly barWidth: number; readonly most: number }

const drawLane = (record: MachinesRecord, index: number, { x, barWidth, most }: Scale): string => {
  const { name, baseUrl } = record.machines[index] ?? { name: '', baseUrl: '' }
  const laneTop = top + index * laneHeight
  const middle = laneTop + 100
  const bars = (isCounted: (status: number) => boolean, colour: string, isDown: boolean) =>
    countSeconds(record, baseUrl, isCounted).map(([second, count]) => {
      const size = Math.min(1, count / most) * (isDown ? 40 : 70)
      const at = x(record.startedAt + second * 1_000)
      return rect(at, isDown ? middle : middle - size, [barWidth, size], `fill="${colour}"`)
    })
  const drawKill = ({ part, killedAt, backAt }: Kill): string => {
    const length = Math.max(2, x(Math.min(backAt, record.endedAt)) - x(killedAt))
    const [height, opacity] = part === 'machine' ? [132, 0.25] : [10, 1]
    return rect(
      x(killedAt),
      laneTop + 8,
      [length, height],
      `fill="${colours[part]}" fill-opacity="${opacity}"`,
    )
  }
  return [
    ...record.kills.filter((kill) => kill.baseUrl === baseUrl).map(drawKill),
    ...bars(isSuccess, successColour, false),
    ...bars(isFailure, failureColour, true),
    `<line x1="${left}" x2="${width - right}" y1="${middle}" y2="${middle}" stroke="#8886"/>`,
    text(left - 8, middle - 4, name, 'text-anchor="end"'),
  ].join('\n')
}

const drawKeys = (most: number): string =>
  [
    ...Object.entries(colours).map(([part, colour]) => [colour, `${part} killed`] as const),
    [successColour, `200, at most ${most}/s`] as const,
    [failureColour, '503, no answer: down'] as const,
  ]
    .map(([colour, words], index) => {
      const at = left + index * 138
      return rect(at, 44, [10, 10], `fill="${colour}"`) + text(at + 14, 53, words, 'font-size="11"')
    })
    .join('\n')

/** For each machine, 200s a second upwards and failures downwards; above them what was killed, until it worked again. */
export const drawTimeline = (title: string, record: MachinesRecord): string => {
  const { startedAt, endedAt, machines } = record
  const seconds = Math.ceil((endedAt - startedAt) / 1_000)
  const counts = machines.flatMap(({ baseUrl }) => countSeconds(record, baseUrl, isSuccess))
  const scale: Scale = {
    x: (ms) => left + ((ms - startedAt) / 1_000 / seconds) * (width - left - right),
    barWidth: Math.max(0.5, (width - left - right) / seconds - 0.2),
    most: Math.max(1, ...counts.map(([, count]) => count)),
  }
  const height = top + machines.length * laneHeight + 30
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}" font-family="system-ui, sans-serif" font-size="12" fill="#777">
<title>${title}</title>
${text(left, 26, title, 'font-size="16"')}
${drawKeys(scale.most)}
${machines.map((_, index) => drawLane(record, index, scale)).join('\n')}
${text(left, height - 10, '0 s')}
${text(width - right, height - 10, `${seconds} s`, 'text-anchor="end"')}
</svg>
`
}
