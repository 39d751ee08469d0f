// Writes the golden files: everything public or stored that a renamed identifier or a moved file could change by
// accident. With --check it compares, and names what differs; with --stored it writes the names of what tests store.
// npm run golden
import {
  compareGolden,
  describeDifferences,
  listGolden,
  readGolden,
  writeGolden,
  type GoldenFiles,
} from './compare.ts'
import { literalFiles } from './literals.ts'
import { publicFiles } from './public.ts'
import { readSources, secretFiles } from './secrets.ts'
import { serviceFiles } from './service.ts'
import { storedName, writeStored } from './stored.ts'

/** Made and compared by tools/ci/acceptance.ts, which has a running server and a chain, and by tools/ci/test.ts. */
const madeElsewhere = new Set(['conformance.tsv', storedName])

const currentFiles = async (): Promise<GoldenFiles> => {
  const sources = readSources()
  return new Map([
    ...(await publicFiles()),
    ...secretFiles(sources),
    ...literalFiles(sources),
    ...(await serviceFiles()),
  ])
}

const main = async (): Promise<void> => {
  if (process.argv.includes('--stored')) return writeStored()
  const current = await currentFiles()
  const names = listGolden().filter((name) => !madeElsewhere.has(name))
  const golden: GoldenFiles = new Map(names.map((name) => [name, readGolden(name) ?? '']))
  const found = compareGolden(golden, current)
  if (!process.argv.includes('--check')) {
    writeGolden(current)
    console.log(`${current.size} golden files written, ${found.size} changed`)
  } else if (found.size === 0) console.log(`${current.size} golden files are unchanged`)
  else {
    console.error(
      `${describeDifferences(found)}\n\nNothing public or stored may change by accident. Where a change is meant, run npm run golden and commit the result.`,
    )
    process.exitCode = 1
  }
}

await main()
