// Fits the motion model on training people and every bot family, and writes it with its error-rate card.
// POHF_DATA=folder npx node tools/evaluation/fit-model.ts
import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { buildModel, VERSION } from './motion/build-model.ts'
import { findData } from './data.ts'
import { evaluate } from './motion/evaluate.ts'
import { FULL, loadDataset } from './motion/dataset.ts'

const data = findData()
if ('missing' in data) {
  console.error(data.missing)
  process.exit(1)
}
const world = loadDataset(data.folder, FULL)
const evaluation = evaluate(world, (text) => console.log(text))
const text = JSON.stringify(buildModel(world, evaluation))
writeFileSync(resolve(import.meta.dirname, `../../packages/scorer/src/models/${VERSION}.json`), `${text}\n`)
console.log(`wrote ${VERSION}.json, ${Math.round(text.length / 1_000)} kB`)
