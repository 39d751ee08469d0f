import {
  attackPrice,
  attacks,
  marketCount,
  rates,
  simulate,
  spreads,
  type Shift,
} from '../../evaluation/index-rate/simulation.ts'
import { paddedTableOf, withGeneratedPart, type GeneratedFile } from './markdown.ts'

const page = 'docs/guides/index-methodology.md'
const picture = 'docs/evidence/index-manipulation.svg'

const shiftOf = (shifts: readonly Shift[], rate: string, attack: string): number =>
  shifts.find((shift) => shift.rate === rate && shift.attack.name === attack)?.shiftPct ?? Number.NaN
const percent = (value: number): string => `${value.toFixed(1)} %`

const tableFor = (shifts: readonly Shift[]): string =>
  paddedTableOf(
    ['Fake hours', ...rates.map(([rate]) => (rate === 'vhh-1' ? '`vhh-1`' : rate))],
    attacks.map(({ name }) => [name, ...rates.map(([rate]) => percent(shiftOf(shifts, rate, name)))]),
  )

const colours: Readonly<Record<string, string>> = {
  mean: '#8a7a1f',
  'mean without 15 % at each end': '#e0702a',
  median: '#3b82f6',
  'vhh-1': '#1f9d6b',
}
const style =
  '<style>text{font:13px system-ui,sans-serif;fill:#24292f}.grid{stroke:#8886}@media (prefers-color-scheme:dark){text{fill:#e6edf3}}</style>'
const [left, width, shiftMax] = [250, 400, 60]

const barsOf = (shifts: readonly Shift[]): string =>
  attacks
    .flatMap(({ name }, group) => {
      const top = 44 + group * 108
      const heading = `<text x="8" y="${top + 10}" font-weight="600">${name}</text>`
      const bars = rates.map(([rate], index) => {
        const shift = shiftOf(shifts, rate, name)
        const y = top + index * 22
        const length = ((shift / shiftMax) * width).toFixed(1)
        return `<text x="${left - 8}" y="${y + 10}" text-anchor="end">${rate === 'mean without 15 % at each end' ? 'trimmed mean' : rate}</text><rect x="${left}" y="${y}" width="${length}" height="13" fill="${colours[rate] ?? ''}"/><text x="${(left + Number(length) + 6).toFixed(1)}" y="${y + 11}">${percent(shift)}</text>`
      })
      return [heading, ...bars]
    })
    .join('\n')

const pictureOf = (shifts: readonly Shift[]): string => {
  const title = `Shift of four rates by an attacker who pays ${attackPrice} times the price`
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 370" role="img" aria-label="${title}">
${style}
<text x="8" y="22" font-weight="600">${title}</text>
${barsOf(shifts)}
</svg>
`
}

/** The table and the picture of the simulation in the methodology of the index. */
export const indexRateFiles = (): GeneratedFile[] => {
  const narrow = simulate(spreads.narrow)
  const content = [
    `Mean shift over ${marketCount} markets of 40 buyers. The attacker pays ${attackPrice} times the narrow price.`,
    tableFor(narrow),
    'The same where prices of an hour differ twice as much (standard deviation of the logarithm 0.30 instead of 0.15):',
    tableFor(simulate(spreads.wide)),
  ].join('\n\n')
  return [withGeneratedPart(page, 'simulation', content), [picture, pictureOf(narrow)]]
}
