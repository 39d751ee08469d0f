// Measures the motion scorer on people and bot families that it has never seen, and writes docs/evidence/motion.md.
// POHF_DATA=folder npm run eval:evidence [-- --json] [--quick]
// --quick: few sessions, 3 s windows alone, and nothing is written: for a check, not for a figure.
import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { currentModel } from '../../packages/scorer/src/current-model.ts'
import { replayModel } from '../../packages/scorer/src/index.ts'
import { findData, readHumans } from './data.ts'
import { evaluate } from './motion/evaluate.ts'
import { runExperiments } from './motion/experiments.ts'
import { measureFalseRejections } from './motion/false-rejections.ts'
import { computeProbes } from './probes.ts'
import { collectStrokes } from './replay/fit.ts'
import { measureReplay } from './replay/measure.ts'
import { type EvidenceMeasurements, printTable, toJson, writeReport } from './report.ts'
import { evaluateSessions, measureSpeed } from './motion/sessions.ts'
import { FULL, loadDataset } from './motion/dataset.ts'
import { resampleToFrameClock } from './motion/generate.ts'

const { values } = parseArgs({
  options: { json: { type: 'boolean', default: false }, quick: { type: 'boolean', default: false } },
})
const data = findData()
if ('missing' in data) {
  console.error(data.missing)
  process.exit(1)
}
const startedAt = performance.now()
const world = loadDataset(data.folder, values.quick ? { sessionsPerFamily: 8, variantsPerFamily: 4 } : FULL)
const people = readHumans(data.folder).filter(({ user }) => user !== null && world.split.test.has(user))
const note = (text: string) => console.error(text)
const measured: EvidenceMeasurements = {
  model: currentModel.version,
  evaluation: evaluate(world, note, values.quick ? [3] : [1, 3, 10]),
  sessions: evaluateSessions(data.folder, world.split),
  ideas: values.quick ? [] : runExperiments(data.folder, FULL.sessionsPerFamily),
  replay: measureReplay(collectStrokes(readHumans(data.folder)), replayModel, {
    sizes: values.quick ? [3_000] : [3_000, 300_000],
    repeats: values.quick ? 1 : 10,
  }),
  probes: computeProbes(),
  lost: measureFalseRejections(people, resampleToFrameClock(people, 2_000_000)),
  sessionsPerSecond: measureSpeed(),
}
console.log(printTable(measured))
for (const [name, { pass, worst }] of Object.entries(measured.probes))
  console.log(`probes (computed), ${name}: ${pass.toFixed(6)}, worst of 33 ${worst.toFixed(6)}`)
console.log(
  `replay: found ${measured.replay.detection.toFixed(3)}, false alarm at most ${measured.replay.falseAlarm.toExponential(1)}`,
)
console.log(`speed: ${Math.round(measured.sessionsPerSecond)} sessions of one minute per second on one core`)
console.log(`took ${((performance.now() - startedAt) / 1_000).toFixed(0)} s`)
if (!values.quick) {
  const root = resolve(import.meta.dirname, '../..')
  writeReport(root, measured)
  spawnSync('prettier', ['--write', '--log-level', 'warn', 'docs/evidence/motion.md'], {
    cwd: root,
    stdio: 'inherit',
  })
}
if (values.json) console.log(toJson(measured))
