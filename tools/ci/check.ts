// Runs the steps of CI in their order and stops at the first failure. Names the steps that took longer than their budget.
// npm run check [-- --strict]: with --strict a step over its budget fails the run; without, a busy machine only warns.
import { spawnSync } from 'node:child_process'
import { budgetSecondsOf, overrunsOf, type Duration } from './budgets.ts'
import { compileCache } from './compile-cache.ts'
import { steps } from './steps.ts'

const isStrict = process.argv.includes('--strict')
const secondsSince = (startedAt: number): number => (performance.now() - startedAt) / 1_000
const startedAt = performance.now()
const durations: Duration[] = []
for (const [index, { name, command }] of steps.entries()) {
  const stepStartedAt = performance.now()
  console.log(`\n[${index + 1}/${steps.length}] ${name}`)
  const [program = '', ...parameters] = command
  const { status } = spawnSync(program, parameters, {
    stdio: 'inherit',
    env: { ...compileCache, ...process.env },
  })
  const seconds = secondsSince(stepStartedAt)
  if (status !== 0) {
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
