import type { Epoch } from '@pohf/protocol'
import { html, type Html } from '../platform/http/html.ts'

export const usd = (value: number): string => `$${value.toFixed(2)}`
const whole = (value: number): string => Math.round(value).toLocaleString('en')

const monthNames = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
/** `Oct 2026`. */
export const monthName = (month: string): string =>
  `${monthNames[Number(month.slice(5)) - 1] ?? ''} ${month.slice(0, 4)}`

const [left, right] = [9, 97]
const plot = { top: 14, bottom: 200, barsTop: 226, barsBottom: 274, height: 296 } as const
const labelsMax = 6

const percentOf = (value: number): string => `${value.toFixed(2)}%`
const xOf = (index: number, count: number): string =>
  percentOf(count === 1 ? (left + right) / 2 : left + ((right - left) * index) / (count - 1))

/** From a step below the lowest value to a step above the highest, in steps that people count in. */
const axisOf = (values: readonly number[]): readonly number[] => {
  const [low, high] = [Math.min(...values), Math.max(...values)]
  const step = [0.5, 1, 2, 5, 10, 20, 50, 100].find((each) => high - low <= each * 4) ?? 500
  const first = Math.max(0, Math.floor(low / step - 0.25) * step)
  const count = Math.ceil((high - first) / step + 0.25)
  return Array.from({ length: count + 1 }, (_, index) => first + index * step)
}

type Point = { readonly epoch: Epoch; readonly x: string }

const valueLines = (points: readonly Point[], yOf: (value: number) => string): Html[] =>
  points.flatMap(({ epoch, x }, index) => {
    const before = points[index - 1]
    if (epoch.value === null || !before || before.epoch.value === null) return []
    return [
      html`<line
        class="rate"
        x1="${before.x}"
        x2="${x}"
        y1="${yOf(before.epoch.value)}"
        y2="${yOf(epoch.value)}"
      />`,
    ]
  })

const valueDots = (points: readonly Point[], yOf: (value: number) => string): Html[] =>
  points.map(({ epoch, x }) =>
    epoch.value === null
      ? html`<text class="t3 m" x="${x}" y="${plot.bottom - 6}">–</text>`
      : html`<circle class="p1" cx="${x}" cy="${yOf(epoch.value)}" r="4" />`,
  )

/** The hours behind each value, as bars below it. */
const hourBars = (points: readonly Point[]): Html => {
  const most = Math.max(1, ...points.map(({ epoch }) => epoch.inputs.hours))
  return html`<text class="t3" x="0" y="${plot.barsTop - 6}">Hours</text>
    ${points.map(({ epoch, x }) => {
      const top = plot.barsBottom - ((plot.barsBottom - plot.barsTop) * epoch.inputs.hours) / most
      return html`<line class="bar" x1="${x}" x2="${x}" y1="${plot.barsBottom}" y2="${top.toFixed(1)}" />`
    })}
    <text class="t3 e" x="${percentOf(left - 1.5)}" y="${plot.barsTop + 10}">${whole(most)}</text>`
}

/** The values of months, oldest first, with the hours behind them. */
export const indexPicture = (history: readonly Epoch[]): Html => {
  const values = history.flatMap(({ value }) => value ?? [])
  if (values.length === 0) return html``
  const ticks = axisOf(values)
  const [low = 0, high = 1] = [ticks[0], ticks.at(-1)]
  const yOf = (value: number): string =>
    (plot.bottom - ((plot.bottom - plot.top) * (value - low)) / (high - low)).toFixed(1)
  const points = history.map((epoch, index) => ({ epoch, x: xOf(index, history.length) }))
  const every = Math.ceil(history.length / labelsMax)
  const label = history
    .map(({ epoch, value }) => `${monthName(epoch)}: ${value === null ? 'no value' : usd(value)}`)
    .join('. ')
  return html`<svg
    class="plot"
    height="${plot.height}"
    role="img"
    aria-label="The price of a verified human hour by month. ${label}."
  >
    ${ticks.map(
      (tick) =>
        html`<line
            class="g"
            x1="${percentOf(left)}"
            x2="${percentOf(right)}"
            y1="${yOf(tick)}"
            y2="${yOf(tick)}"
          />
          <text class="t3 e" x="${percentOf(left - 1.5)}" y="${Number(yOf(tick)) + 4}">$${tick}</text>`,
    )}
    ${valueLines(points, yOf)} ${valueDots(points, yOf)} ${hourBars(points)}
    ${points.map(({ epoch, x }, index) =>
      (points.length - 1 - index) % every === 0
        ? html`<text class="t3 m" x="${x}" y="${plot.height - 4}"
            >${monthName(epoch.epoch).replace(' 20', ' ’')}</text
          >`
        : html``,
    )}
  </svg>`
}

/** The same as a table, newest first. */
export const indexTable = (history: readonly Epoch[]): Html =>
  html`<details class="astable">
    <summary>Show as a table</summary>
    <div class="scroll" tabindex="0" role="region" aria-label="The index by month">
      <table>
        <thead>
          <tr>
            <th scope="col">Month</th>
            <th scope="col" class="num">USD an hour</th>
            <th scope="col" class="num">Hours</th>
            <th scope="col" class="num">Clusters</th>
            <th scope="col" class="num">Workers</th>
            <th scope="col">Method</th>
          </tr>
        </thead>
        <tbody>
          ${history.toReversed().map(
            (epoch) =>
              html`<tr>
                <th scope="row">
                  ${monthName(epoch.epoch)}${(epoch.revision ?? 1) > 1 ? ' (restated)' : ''}
                </th>
                <td class="num">${epoch.value === null ? 'too few inputs' : epoch.value.toFixed(2)}</td>
                <td class="num">${whole(epoch.inputs.hours)}</td>
                <td class="num">${whole(epoch.inputs.clusters)}</td>
                <td class="num">${whole(epoch.inputs.workers)}</td>
                <td>${epoch.method}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </details>`
