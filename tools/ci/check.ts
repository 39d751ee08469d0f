// Runs the steps of CI in their order and stops at the first failure. Names the steps that took longer than their budget.
// npm run check [-- --strict] [-- --all]: with --strict a step over its budget fails the run; without, a busy machine only
// warns. With --all every battery runs after the steps, for hours, and all that failed are named at the end.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { batteryNames } from '../batteries.ts'
import { budgetSecondsOf, overrunsOf, type Duration } from './budgets.ts'
import { compileCache } from './compile-cache.ts'
import { steps, type Step } from './steps.ts'

const isStrict = process.argv.includes('--strict')
const secondsSince = (startedAt: number): number => (performance.now() - startedAt) / 1_000

/** Whether a command passed. It prints at once, or what it printed is shown at its end. */
const runCommand = async (command: Step['command'], isShownAtEnd: boolean): Promise<boolean> => {
  const [program = '', ...parameters] = command
  const child = spawn(program, parameters, {
    stdio: ['inherit', isShownAtEnd ? 'pipe' : 'inherit', 'inherit'],
    env: { ...compileCache, ...process.env },
  })
  const [printed, [code]] = await Promise.all([child.stdout ? text(child.stdout) : '', once(child, 'exit')])
  if (printed !== '') console.log(printed.trimEnd())
  return code === 0
}

const startedAt = performance.now()
const durations: Duration[] = []
for (const [index, { name, command, beside }] of steps.entries()) {
  const stepStartedAt = performance.now()
  console.log(`\n[${index + 1}/${steps.length}] ${name}`)
  const results = await Promise.all([runCommand(command, false), beside ? runCommand(beside, true) : true])
  const seconds = secondsSince(stepStartedAt)
  if (results.includes(false)) {
    console.error(`\n${name} failed after ${seconds.toFixed(1)} s`)
    process.exit(1)
  }
  durations.push({ name, seconds })
  console.log(`    ${name}: ${seconds.toFixed(1)} s of ${budgetSecondsOf(name)} s`)
}
console.log(`\nAll ${steps.length} checks passed in ${secondsSince(startedAt).toFixed(1)} s`)
const overruns = overrunsOf(durations)
for (const overrun of overruns) console.warn(overrun)
if (isStrict && overruns.length > 0) process.exitCode = 1

const failedBatteries: string[] = []
for (const name of process.argv.includes('--all') ? batteryNames : []) {
  const batteryStartedAt = performance.now()
  console.log(`\n[battery] ${name}`)
  const passed = await runCommand(['node', 'tools/battery.ts', name], false)
  if (!passed) failedBatteries.push(name)
  console.log(
    `    ${name}: ${passed ? 'passed' : 'failed'} after ${secondsSince(batteryStartedAt).toFixed(1)} s`,
  )
}
if (failedBatteries.length > 0) {
  console.error(`\nBatteries that failed: ${failedBatteries.join(', ')}`)
  process.exitCode = 1
}
