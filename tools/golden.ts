// Writes the golden files: everything public or stored that a renamed identifier or a moved file could change by
// accident. With --check it compares, and names what differs. npm run golden
import {
  compareGolden,
  describeDifferences,
  listGolden,
  readGolden,
  writeGolden,
  type GoldenFiles,
} from './golden-compare.ts'
import { literalFiles } from './golden-literals.ts'
import { publicFiles } from './golden-public.ts'
import { readSources, secretFiles } from './golden-secrets.ts'
import { serviceFiles } from './golden-service.ts'

/** Made by tools/acceptance.ts, which has a running server and a chain. */
const madeElsewhere = new Set(['conformance.tsv'])

const sources = readSources()
const current: GoldenFiles = new Map([
  ...(await publicFiles()),
  ...secretFiles(sources),
  ...literalFiles(sources),
  ...(await serviceFiles()),
])
const names = listGolden().filter((name) => !madeElsewhere.has(name))
const golden: GoldenFiles = new Map(names.map((name) => [name, readGolden(name) ?? '']))
const found = compareGolden(golden, current)

if (process.argv.includes('--check')) {
  if (found.size > 0) {
    console.error(
      `${describeDifferences(found)}\n\nNothing public or stored may change by accident. Where a change is meant, run npm run golden and commit the result.`,
    )
    process.exitCode = 1
  } else console.log(`${current.size} golden files are unchanged`)
} else {
  writeGolden(current)
  console.log(`${current.size} golden files written, ${found.size} changed`)
}
