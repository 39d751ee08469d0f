import type { Assurance, ForgingFile } from '@pohf/protocol'
import { html, type Html } from '../platform/http/html.ts'
import stored from './error-rates.json' with { type: 'json' }

/** One family of attacks at one length of motion, in percent. */
type ErrorRate = {
  readonly family: string
  readonly seconds: number
  readonly isHumanMotion: boolean
  readonly peopleWindows: number
  readonly equalError: number
  readonly low: number
  readonly high: number
}
export const errorRates: readonly ErrorRate[] = stored.rates

const familyNames: Readonly<Record<string, string>> = {
  stroke_replay: 'Replayed human strokes',
  stroke_morph: 'Two human strokes blended',
  ghost_cursor: 'ghost-cursor',
  ghost_cursor_ts: 'ghost-cursor, TypeScript',
  sigma_lognormal: 'Sigma-lognormal model',
  js_smoothstep: 'Smoothstep script',
  bezier_minjerk: 'Bézier, minimum jerk',
  windmouse: 'WindMouse',
  pw_steps: 'Playwright steps',
  const_velocity: 'Constant velocity',
}
const nameOf = (family: string): string => familyNames[family] ?? family
const percent = (value: number): string => value.toFixed(1)

/** The short and the long time of motion that the picture compares. */
export const comparedSeconds = { short: 3, long: 10 } as const

type Comparison = { readonly short: ErrorRate; readonly long: ErrorRate | undefined }
/** Worst first. */
export const compareRates = (rates: readonly ErrorRate[]): Comparison[] =>
  rates
    .filter(({ seconds }) => seconds === comparedSeconds.short)
    .toSorted((a, b) => b.equalError - a.equalError || b.high - a.high)
    .map((short) => ({
      short,
      long: rates.find(({ family, seconds }) => family === short.family && seconds === comparedSeconds.long),
    }))

const rowHeight = 38
/** Room at the left for half of a dot, and at the right for the last label. */
const [plotLeft, plotWidth] = [1.5, 94]

const tableOf = (label: string, head: readonly Html[], rows: readonly Html[]): Html =>
  html`<details class="astable">
    <summary>Show as a table</summary>
    <div class="scroll" tabindex="0" role="region" aria-label="${label}">
      <table>
        <thead>
          <tr>
            ${head}
          </tr>
        </thead>
        <tbody>
          ${rows}
        </tbody>
      </table>
    </div>
  </details>`

const rateMarks = ({ short, long }: Comparison, index: number, x: (value: number) => string): Html => {
  const top = index * rowHeight
  const middle = top + 27
  return html`<text x="0" y="${top + 14}">${nameOf(short.family)}</text>
    <line class="span" x1="${x(short.low)}" x2="${x(short.high)}" y1="${middle}" y2="${middle}" />
    ${
      long
        ? html`<line
              class="link"
              x1="${x(short.equalError)}"
              x2="${x(long.equalError)}"
              y1="${middle}"
              y2="${middle}"
            />
            <circle class="hollow" cx="${x(long.equalError)}" cy="${middle}" r="4" />`
        : html``
    }
    <circle class="${short.isHumanMotion ? 'p3' : 'p1'}" cx="${x(short.equalError)}" cy="${middle}" r="5" />
    <text
      class="tb"
      x="${x(Math.max(short.high, short.equalError, long?.equalError ?? 0))}"
      y="${middle + 4}"
      dx="12"
    >
      ${percent(short.equalError)}
    </text>`
}

/** Equal error rates by family after a short and a long time of motion. */
export const errorRatePicture = (rates: readonly ErrorRate[]): Html => {
  const rows = compareRates(rates)
  const axisMax = Math.ceil((Math.max(...rows.map(({ short }) => short.high)) + 4) / 10) * 10
  const x = (value: number): string => `${(plotLeft + (value / axisMax) * plotWidth).toFixed(2)}%`
  const bottom = rows.length * rowHeight + 6
  const ticks = Array.from({ length: axisMax / 10 + 1 }, (_, index) => index * 10)
  const label = rows
    .map(({ short, long }) => {
      const later = long ? `, ${percent(long.equalError)} after ${comparedSeconds.long} seconds` : ''
      return `${nameOf(short.family)}: ${percent(short.equalError)}${later}`
    })
    .join('. ')
  return html`<svg
      class="plot"
      height="${bottom + 20}"
      role="img"
      aria-label="Equal error rate in percent after ${comparedSeconds.short} seconds of motion. ${label}."
    >
      ${ticks.map(
        (tick) =>
          html`<line class="g" x1="${x(tick)}" x2="${x(tick)}" y1="18" y2="${bottom}" />
            <text class="t3 ${tick === 0 ? '' : 'm'}" x="${x(tick)}" y="${bottom + 16}">${tick}%</text>`,
      )}
      ${rows.map((row, index) => rateMarks(row, index, x))}
    </svg>
    ${tableOf(
      'Equal error rates',
      [
        html`<th scope="col">Attack</th>`,
        html`<th scope="col" class="num">${comparedSeconds.short} s (%)</th>`,
        html`<th scope="col" class="num">95 % interval</th>`,
        html`<th scope="col" class="num">${comparedSeconds.long} s (%)</th>`,
      ],
      rows.map(
        ({ short, long }) =>
          html`<tr>
            <th scope="row">${nameOf(short.family)}</th>
            <td class="num">${percent(short.equalError)}</td>
            <td class="num">${percent(short.low)}–${percent(short.high)}</td>
            <td class="num">${long ? percent(long.equalError) : '–'}</td>
          </tr>`,
      ),
    )}`
}

const rootNames = {
  network: 'a network address',
  authenticator: 'a security key',
  app: 'a phone app',
  payout_account: 'a payout account',
  external: 'an outside proof of one human',
} as const

/** Made once: a formatter takes longer than the number, and the first of a process 20 ms of CPU. */
let amounts: Intl.NumberFormat | undefined
export const usd = (amount: number): string => {
  amounts ??= new Intl.NumberFormat('en', { maximumFractionDigits: 8, useGrouping: true })
  return `$${amounts.format(amount)}`
}

type PriceEntry = ForgingFile['entries'][number]
/** The row for any kind of credential, for each root; cheapest first. */
export const priceRows = (table: ForgingFile): PriceEntry[] =>
  table.entries.filter(({ kind }) => kind === '*').toSorted((a, b) => a.costPer1000 - b.costPer1000)

/** Three bars, the sign of assurance on every page. */
export const assuranceChip = (assurance: Assurance): Html => {
  const level = ['low', 'substantial', 'high'].indexOf(assurance) + 1
  return html`<span class="chip ${level === 1 ? 'none' : 'ok'}"
    ><span class="lv l${level}" aria-hidden="true"><i></i><i></i><i></i></span>${assurance}</span
  >`
}

const priceRowHeight = 50
const capitalized = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1)

const priceBar = (row: PriceEntry, index: number, end: string): Html => {
  const top = index * priceRowHeight
  return html`<text x="0" y="${top + 14}">
      <tspan class="tb">${capitalized(row.assurance)}</tspan> by ${rootNames[row.root]}
    </text>
    <rect
      class="${row.assurance === 'low' ? 'p0' : 'p1'}"
      x="0"
      y="${top + 21}"
      width="${end}"
      height="18"
      rx="4"
    />
    <text class="tb" x="${end}" y="${top + 35}" dx="8">${usd(row.costPer1000)}</text>`
}

const priceTable = (rows: readonly PriceEntry[]): Html =>
  tableOf(
    'Prices of forgeries',
    [
      html`<th scope="col">Assurance</th>`,
      html`<th scope="col">Rests on</th>`,
      html`<th scope="col" class="num">1,000 cost (USD)</th>`,
      html`<th scope="col">Cheapest way</th>`,
    ],
    rows.map(
      (row) =>
        html`<tr>
          <th scope="row">${row.assurance}</th>
          <td>${rootNames[row.root]}</td>
          <td class="num">${usd(row.costPer1000)}</td>
          <td><code>${row.family}</code></td>
        </tr>`,
    ),
  )

/** What 1,000 forged credentials cost by what they rest on, on a logarithmic axis. */
export const pricePicture = (table: ForgingFile): Html => {
  const rows = priceRows(table)
  const logs = rows.map(({ costPer1000 }) => Math.log10(costPer1000))
  // One decade to the left, so that the cheapest has a bar, and at least 10 dollars to the right.
  const first = Math.floor(Math.min(...logs)) - 1
  const last = Math.max(1, Math.ceil(Math.max(...logs)) + 1)
  const x = (value: number): string => `${(((value - first) / (last - first)) * 100).toFixed(2)}%`
  const bottom = rows.length * priceRowHeight + 4
  const decades = Array.from({ length: last - first + 1 }, (_, index) => first + index)
  const label = rows
    .map((row) => `${row.assurance} by ${rootNames[row.root]}: ${usd(row.costPer1000)}`)
    .join('. ')
  return html`<svg
      class="plot"
      height="${bottom + 20}"
      role="img"
      aria-label="US dollars for 1,000 forged credentials, at least, on a logarithmic scale. ${label}."
    >
      ${decades.map((decade) => {
        const side = decade === first ? '' : decade === last ? 'e' : 'm'
        // Every second decade has a label, counted from the right: more do not fit on a phone.
        const isLabelled = (last - decade) % 2 === 0
        return html`<line class="g" x1="${x(decade)}" x2="${x(decade)}" y1="0" y2="${bottom}" /> ${
            isLabelled
              ? html`<text class="t3 ${side}" x="${x(decade)}" y="${bottom + 16}">${usd(10 ** decade)}</text>`
              : html``
          }`
      })}
      ${rows.map((row, index) => priceBar(row, index, x(Math.log10(row.costPer1000))))}
    </svg>
    ${priceTable(rows)}`
}
