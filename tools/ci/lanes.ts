import { spawn } from 'node:child_process'
import { setTimeout } from 'node:timers/promises'
import { compileCache } from './compile-cache.ts'
import type { Lane, Step } from './steps.ts'

export type StepResult = {
  readonly name: string
  readonly hasPassed: boolean
  readonly seconds: number
  /** Everything that the command printed. */
  readonly output: string
}

export type RunStep = (step: Step) => Promise<StepResult>

const outputWaitMs = 2_000

/** Runs a command and collects what it prints. */
export const runCommand: RunStep = async ({ name, command }) => {
  const startedAt = performance.now()
  const [program = '', ...parameters] = command
  const child = spawn(program, parameters, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...compileCache, ...process.env },
  })
  const parts: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part: Buffer) => parts.push(part))
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const { code, fault } = await new Promise<{ code: number | null; fault: string }>((resolve) => {
    child.once('exit', (exit) => resolve({ code: exit, fault: '' }))
    child.once('error', (error) => resolve({ code: 1, fault: String(error) }))
  })
  // A process that the step left running may hold its output open.
  const wait = new AbortController()
  await Promise.race([closed, setTimeout(outputWaitMs, undefined, wait).catch(() => undefined)])
  wait.abort()
  return {
    name,
    hasPassed: code === 0,
    seconds: (performance.now() - startedAt) / 1_000,
    output: `${Buffer.concat(parts).toString()}${fault}`.trimEnd(),
  }
}

/**
 * Runs the lanes at the same time, each in its order, and reports each result as it comes. A step that names another one waits for
 * it, and is left out if that one failed. Nothing else stops at a failure: one run shows all that fail.
 */
export const runLanes = async (
  lanes: readonly Lane[],
  runStep: RunStep,
  report: (result: StepResult) => void,
): Promise<readonly StepResult[]> => {
  const results: StepResult[] = []
  const passed = new Map(
    lanes.flatMap(({ steps }) => steps.map(({ name }) => [name, Promise.withResolvers<boolean>()])),
  )
  const runLane = async ({ steps }: Lane): Promise<void> => {
    for (const step of steps) {
      const { after } = step
      if (after !== undefined && !(await passed.get(after)?.promise)) {
        passed.get(step.name)?.resolve(false)
        continue
      }
      const result = await runStep(step)
      results.push(result)
      report(result)
      passed.get(step.name)?.resolve(result.hasPassed)
    }
  }
  await Promise.all(lanes.map(runLane))
  return results
}
