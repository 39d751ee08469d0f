// Prints what would break clients of the last release, and what is wrong with the declarations.
// npx node tools/ci/compatibility/main.ts            compares; exit code 1 where the gate fails
// npx node tools/ci/compatibility/main.ts --release  makes the interface of these sources the one of the release
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { findBreaks } from './compare.ts'
import { clearDeclared, gateFaults, readDeclared } from './gate.ts'
import { currentInterface, readReleased, writeReleased } from './interface.ts'

const { values } = parseArgs({ options: { release: { type: 'boolean', default: false } } })
const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
  readonly version: string
}

if (values.release) {
  const current = currentInterface()
  writeReleased({ ...current, release: version })
  clearDeclared()
  console.log(`${current.operations.length} operations are the interface of ${version}`)
} else {
  const released = readReleased()
  const breaks = findBreaks(released, currentInterface())
  const faults = gateFaults(breaks, readDeclared())
  console.log(
    `${released.operations.length} operations of ${released.release ?? 'the first baseline'} compared: ${breaks.length} breaks, ${faults.length} faults`,
  )
  for (const fault of faults) console.error(fault)
  if (faults.length > 0) process.exitCode = 1
}
