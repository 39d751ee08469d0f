// Runs the merge gate: two lanes of steps at the same time. All that fail are named at the end.
// npm run check [-- --all | --changed [BASE]] [-- --json]
// --all runs every battery after the gate, for hours, and names all that failed. --changed checks what was changed since BASE.
import { spawnSync } from 'node:child_process'
import { parseArgs } from 'node:util'
import { batteryNames } from '../batteries.ts'
import { checkChanged } from './changed.ts'
import { hashFiles, hashInputs, keepPassed, readPassed } from './kept-results.ts'
import { runCommand, runLanes, type RunStep, type StepResult } from './lanes.ts'
import { lanes, steps } from './steps.ts'

const { values, positionals } = parseArgs({
  options: {
    all: { type: 'boolean', default: false },
    changed: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
  allowPositionals: true,
})

if (values.all && values.changed) throw new Error('give --all or --changed')

const secondsSince = (startedAt: number): number => (performance.now() - startedAt) / 1_000

/** The last lines of a step that passed; all of one that failed. */
const linesShown = 8
const report = ({ name, hasPassed, seconds, output }: StepResult): void => {
  const lines = output.split('\n')
  const shown = hasPassed ? lines.slice(-linesShown).filter((line) => line.trim() !== '') : lines
  console.log(`\n${hasPassed ? '✓' : '✗'} ${name}: ${seconds.toFixed(1)} s`)
  if (shown.length > 0) console.log(shown.map((line) => `    ${line}`).join('\n'))
}

/** Leaves a step out that has passed with the same inputs. CI runs every step. */
const runUnlessKept = (): RunStep => {
  if (process.env['CI'] !== undefined) return runCommand
  const kept = readPassed()
  return async (step) => {
    const hash = step.inputs && hashInputs(hashFiles(), step.inputs)
    if (hash !== undefined && kept[step.name] === hash)
      return { name: step.name, hasPassed: true, seconds: 0, output: 'passed before with the same files' }
    const result = await runCommand(step)
    // Not if a file was changed while the step ran.
    if (
      step.inputs &&
      hash !== undefined &&
      result.hasPassed &&
      hashInputs(hashFiles(), step.inputs) === hash
    )
      keepPassed(step.name, hash)
    return result
  }
}

const runGate = async (): Promise<boolean> => {
  const startedAt = performance.now()
  const results = await runLanes(lanes, runUnlessKept(), report)
  const failed = steps.filter(
    ({ name }) => !results.some((result) => result.name === name && result.hasPassed),
  )
  if (failed.length > 0)
    console.error(`\nFailed, or left out after a failure: ${failed.map(({ name }) => name).join(', ')}`)
  const seconds = Math.round(secondsSince(startedAt))
  if (values.json) console.log(JSON.stringify({ steps: steps.length, failed: failed.length, seconds }))
  const counts = /\d+ passed, \d+ failed(?:, \d+ skipped)?$/.exec(
    results.find(({ name }) => name === 'tests')?.output ?? '',
  )
  console.log(`\nThe gate ${failed.length === 0 ? 'passed' : 'failed'} after ${seconds} s; of the tests`)
  console.log(counts?.[0] ?? 'none ran')
  return failed.length === 0
}

/** Runs every battery, also after one that failed. They print as they go, for hours. */
const runBatteries = (): boolean => {
  const failed = batteryNames.filter((name) => {
    console.log(`\n[battery] ${name}`)
    return spawnSync('node', ['tools/battery.ts', name], { stdio: 'inherit' }).status !== 0
  })
  if (failed.length > 0) console.error(`\nBatteries that failed: ${failed.join(', ')}`)
  return failed.length === 0
}

const runWhole = async (): Promise<boolean> => {
  const hasPassed = await runGate()
  return (!values.all || runBatteries()) && hasPassed
}

const hasPassed = values.changed
  ? await checkChanged({ base: positionals[0], isJson: values.json })
  : await runWhole()
if (!hasPassed) process.exitCode = 1
