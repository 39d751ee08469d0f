// Two small pictures, drawn by hand so that they need no library, legible on light and on dark.
import { HUMAN_DERIVED, type FamilyResult } from './motion/evaluate.ts'

const WIDTH = 720
const HEIGHT = 400
const PLOT = { left: 64, right: 520, top: 40, bottom: 340 } as const
/** Mid tones: each reads on white and on black. */
const COLOURS = [
  '#3b82f6',
  '#e0702a',
  '#1f9d6b',
  '#a855f7',
  '#d6456b',
  '#8a7a1f',
  '#0f9bb3',
  '#7c7f88',
  '#c026d3',
  '#ef4444',
]

const STYLE = `<style>
text{font:13px system-ui,sans-serif;fill:#24292f}.grid{stroke:#8886;stroke-width:1}.line{fill:none;stroke-width:2}
@media (prefers-color-scheme:dark){text{fill:#e6edf3}}
</style>`

type Line = {
  readonly name: string
  readonly dashed: boolean
  readonly points: readonly (readonly [number, number])[]
}
type Axis = { readonly label: string; readonly ticks: readonly (readonly [number, string])[] }

const plotPosition = (share: number, from: number, to: number) =>
  (from + (to - from) * Math.max(0, Math.min(1, share))).toFixed(1)

/** Lines over a grid; all places are shares of the plot, from the lower left. */
function draw(title: string, axes: { readonly x: Axis; readonly y: Axis }, lines: readonly Line[]): string {
  const x = (share: number) => plotPosition(share, PLOT.left, PLOT.right)
  const y = (share: number) => plotPosition(share, PLOT.bottom, PLOT.top)
  const grid = [
    ...axes.x.ticks.map(
      ([at, label]) =>
        `<line class="grid" x1="${x(at)}" y1="${PLOT.top}" x2="${x(at)}" y2="${PLOT.bottom}"/><text x="${x(at)}" y="${PLOT.bottom + 18}" text-anchor="middle">${label}</text>`,
    ),
    ...axes.y.ticks.map(
      ([at, label]) =>
        `<line class="grid" x1="${PLOT.left}" y1="${y(at)}" x2="${PLOT.right}" y2="${y(at)}"/><text x="${PLOT.left - 8}" y="${Number(y(at)) + 4}" text-anchor="end">${label}</text>`,
    ),
  ]
  const drawn = lines.map(({ name, dashed, points }, index) => {
    const colour = COLOURS[index % COLOURS.length] ?? ''
    const path = points.map(([atX, atY]) => `${x(atX)},${y(atY)}`).join(' ')
    const dots =
      points.length > 4
        ? ''
        : points
            .map(([atX, atY]) => `<circle cx="${x(atX)}" cy="${y(atY)}" r="4" fill="${colour}"/>`)
            .join('')
    const dash = dashed ? ' stroke-dasharray="6 4"' : ''
    const row = PLOT.top + 12 + index * 24
    return `<polyline class="line" stroke="${colour}"${dash} points="${path}"/>${dots}<line class="line" stroke="${colour}"${dash} x1="540" y1="${row - 4}" x2="566" y2="${row - 4}"/><text x="574" y="${row}">${name}</text>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title}">
${STYLE}
<text x="${PLOT.left}" y="22" font-weight="600">${title}</text>
${grid.join('\n')}
<text x="${(PLOT.left + PLOT.right) / 2}" y="${HEIGHT - 14}" text-anchor="middle">${axes.x.label}</text>
<text transform="translate(16 ${(PLOT.top + PLOT.bottom) / 2}) rotate(-90)" text-anchor="middle">${axes.y.label}</text>
${drawn.join('\n')}
</svg>
`
}

const SECONDS_POSITION = new Map<number, number>([
  [1, 0.05],
  [3, 0.5],
  [10, 0.95],
])

const height = (rate: number) => Math.sqrt(rate / 0.5)

/** The equal error by seconds of motion. The square root keeps small rates apart and shows zero. */
export function drawEqualError(results: readonly FamilyResult[]): string {
  const names = [...new Set(results.map(({ family }) => family))]
  return draw(
    'Equal error rate of unseen families',
    {
      x: {
        label: 'seconds of motion',
        ticks: [...SECONDS_POSITION].map(([seconds, at]) => [at, `${seconds} s`]),
      },
      y: {
        label: 'equal error (root scale)',
        ticks: [0, 0.01, 0.05, 0.1, 0.2, 0.35, 0.5].map((rate) => [
          height(rate),
          `${Math.round(rate * 100)} %`,
        ]),
      },
    },
    names.map((name) => ({
      name,
      dashed: HUMAN_DERIVED.includes(name),
      points: results
        .filter(({ family }) => family === name)
        .map(({ seconds, eer }) => [SECONDS_POSITION.get(seconds) ?? 0, height(eer)] as const),
    })),
  )
}

/** The place of a rate on three powers of ten. */
const share = (rate: number) => (Math.log10(Math.max(rate, 0.001)) + 3) / 3

/** People lost against bots passed at 3 s, both on scales of powers of ten. */
export function drawTradeOff(results: readonly FamilyResult[]): string {
  const ticks = [0.001, 0.01, 0.1, 1].map((rate) => [share(rate), `${rate * 100} %`] as const)
  return draw(
    'People lost and bots passed, 3 s of motion',
    { x: { label: 'bots passed', ticks }, y: { label: 'people lost', ticks } },
    results
      .filter(({ seconds, eer }) => seconds === 3 && eer > 0)
      .map(({ family, curve }) => ({
        name: family,
        dashed: HUMAN_DERIVED.includes(family),
        points: curve.map(({ passed, lost }) => [share(passed), share(lost)] as const),
      })),
  )
}
