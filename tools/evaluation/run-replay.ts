// Measures the replay detector and writes its table into docs/evidence/replay.md.
// npx node tools/evaluation/run-replay.ts [--fit] [--sizes 3000,30000] [--repeats 10]
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { replayModel } from '../../packages/scorer/src/index.ts'
import { findData, readHumans } from './data.ts'
import { collectStrokes, fitReplay } from './replay/fit.ts'
import { measureReplay, type ReplayReport, sessionRate, upperRate } from './replay/measure.ts'

const { values } = parseArgs({
  options: {
    fit: { type: 'boolean', default: false },
    sizes: { type: 'string', default: '3000,30000,300000,3000000' },
    repeats: { type: 'string', default: '10' },
  },
})
const sizes = values.sizes.split(',').map(Number)
const repeats = Number(values.repeats)
if (![...sizes, repeats].every((value) => Number.isInteger(value) && value > 0 && value <= 10_000_000))
  throw new Error('--sizes and --repeats take whole numbers up to ten million')

const root = resolve(import.meta.dirname, '../..')
const percent = (share: number) => `${(100 * share).toFixed(1)} %`

const tables = (report: ReplayReport): string => {
  const attackRows = report.attacks.map(
    (row) =>
      `| ${row.attack} | ${percent(row.strokesFound / row.strokes)} | ${percent(row.sessionsFound / row.sessions)} | ${row.sessions} |`,
  )
  const sizeRows = report.sizes.map(({ size, generated, people, unseen, lookupMicros, compared }) => {
    const rate = people.strokesFound / people.strokes
    const upper = sessionRate(upperRate(people.strokesFound, people.strokes))
    return `| ${size.toLocaleString('en')} | ${generated.toLocaleString('en')} | ${people.strokesFound} of ${people.strokes} | ${unseen.strokesFound} of ${unseen.strokes} | ${people.sessionsFound} of ${people.sessions} | ${sessionRate(rate).toExponential(1)} | ${upper.toExponential(1)} | ${lookupMicros.toFixed(0)} µs | ${compared.toFixed(0)} |`
  })
  return [
    '| Replay by users 101 to 120, whose strokes are stored | Strokes found | Sessions found | Sessions |',
    '| --- | --- | --- | --- |',
    ...attackRows,
    '',
    '| Strokes stored | of them generated | Innocent strokes found | of unseen people | Innocent sessions found | Session rate, computed | at most (95 %) | Look-up | Compared |',
    '| --- | --- | --- | --- | --- | --- | --- | --- | --- |',
    ...sizeRows,
  ].join('\n')
}

const data = findData()
if ('missing' in data) {
  console.error(data.missing)
  process.exit(1)
}
const strokes = collectStrokes(readHumans(data.folder))
let model = replayModel
if (values.fit) {
  model = fitReplay(strokes, { version: replayModel.version, size: 3_000_000, rate: 0.0007 })
  const file = join(root, `packages/scorer/src/models/${model.version}.json`)
  writeFileSync(file, `${JSON.stringify(model)}\n`)
  console.log(
    `fitted: radius ${model.radius.toFixed(2)}, informative from ${model.informativeFrom.toFixed(1)}`,
  )
}
const report = measureReplay(strokes, model, { sizes, repeats })
const page = join(root, 'docs/evidence/replay.md')
const [before, rest] = readFileSync(page, 'utf8').split('<!-- replay:begin -->')
const after = rest?.split('<!-- replay:end -->')[1]
if (before === undefined || after === undefined) throw new Error(`${page} has lost its markers`)
writeFileSync(page, `${before}<!-- replay:begin -->\n\n${tables(report)}\n\n<!-- replay:end -->${after}`)
console.log(tables(report))
console.log(
  `detection ${percent(report.detection)}, false alarm at most ${report.falseAlarm.toExponential(1)}`,
)
