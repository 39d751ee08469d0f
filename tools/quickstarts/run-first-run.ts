// Starts npm run dev on a fresh clone after npm ci, each time as if it were the first, and once with the data of the demo.
// npm run battery -- first-run [--starts 10 --json]
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { clusterFolder } from '../../packages/server/dev/cluster-folder.ts'
import { findPortBlock } from '../../packages/server/dev/free-ports.ts'
import { portsCount } from '../../packages/server/dev/ports.ts'
import { waitUntilFree } from '../../packages/server/test/fixtures/processes/port-block.ts'
import { install, makeClone, startDev, type Clone } from './clone.ts'

const { values } = parseArgs({
  options: { starts: { type: 'string', default: '10' }, json: { type: 'boolean', default: false } },
})
const starts = Number(values.starts)
if (!Number.isInteger(starts) || starts < 1 || starts > 100)
  throw new Error(`--starts must be a whole number from 1 to 100, not "${values.starts}"`)

/** Seconds on a quiet machine with two cores. */
const [startSecondsMax, demoSecondsMax] = [20, 60]

/** Deletes what a start left beside the clone's dependencies: the database, the built pages, compiled modules. */
const forget = ({ folder }: Clone): void => {
  execFileSync('git', ['clean', '-ffdxq', '-e', 'node_modules'], { cwd: folder })
  for (const path of [join(folder, 'node_modules/.cache'), clusterFolder(join(folder, '.pohf'))])
    rmSync(path, { recursive: true, force: true })
}

/** The seconds until it is ready; undefined, with the reason printed, where it does not start. */
const measureStart = async (
  clone: Clone,
  firstPort: number,
  parameters: readonly string[] = [],
): Promise<number | undefined> => {
  const name = ['npm run dev', ...parameters].join(' ')
  await waitUntilFree(firstPort, portsCount)
  forget(clone)
  try {
    const { seconds, stop } = await startDev(clone, parameters)
    console.log(`✓ ${name}: ${seconds.toFixed(1)} s, load ${loadavg()[0]?.toFixed(1)}`)
    await stop()
    return seconds
  } catch (error) {
    console.error(`✗ ${name}: ${error instanceof Error ? error.message : String(error)}`)
    return undefined
  }
}

const round = (value: number | undefined) => (value === undefined ? null : Number(value.toFixed(1)))
const isWithin = (value: number | undefined, max: number) => value !== undefined && value <= max

const clone = await makeClone()
const firstPort = await findPortBlock(portsCount)
try {
  const { OPERATOR_PORT: _, ...environment } = clone.environment
  const onPorts = { ...clone, environment: { ...environment, PORT: String(firstPort) } }
  console.log(`npm ci: ${install(onPorts).toFixed(1)} s; ${cpus().length} cores`)
  const seconds: number[] = []
  for (let n = 0; n < starts; n++) {
    const one = await measureStart(onPorts, firstPort)
    if (one !== undefined) seconds.push(one)
  }
  const demoS = await measureStart(onPorts, firstPort, ['--demo'])
  const failed = starts - seconds.length
  const medianS = seconds.toSorted((a, b) => a - b)[Math.floor((seconds.length - 1) / 2)]
  if (!isWithin(medianS, startSecondsMax)) console.error(`✗ the median is over ${startSecondsMax} s`)
  if (!isWithin(demoS, demoSecondsMax)) console.error(`✗ the start with --demo is over ${demoSecondsMax} s`)
  if (failed > 0 || !isWithin(medianS, startSecondsMax) || !isWithin(demoS, demoSecondsMax))
    process.exitCode = 1
  if (values.json)
    console.log(JSON.stringify({ starts, failed, medianS: round(medianS), demoS: round(demoS) }))
  await waitUntilFree(firstPort, portsCount)
} finally {
  rmSync(clusterFolder(join(clone.folder, '.pohf')), { recursive: true, force: true })
  clone.remove()
}
