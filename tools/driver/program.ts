import { setTimeout as wait } from 'node:timers/promises'
import { closeAll, endDescendants } from './closing.ts'
import { readOptions, UsageError, type CommonOptions, type OptionDefaults, type Options } from './options.ts'
import { printFindings, writeFindings, type ProgramFindings } from './report.ts'
import { loadNow } from './rounds.ts'

/** A bench or a battery. */
export type Program<D extends OptionDefaults = OptionDefaults> = {
  /** As it is called: `bench -- verify`. */
  readonly command: string
  readonly title: string
  /** What is measured or compared, and how, for the report. */
  readonly about: string
  /** The name of the report; default: the last word of the command. */
  readonly report?: string
  readonly options: D
  /** The options of its smallest run, which `--smoke` takes. */
  readonly smoke?: Partial<Options<D>>
  /** It is ended after this time. */
  readonly minutes: (options: Options<D>) => number
  /** Why it cannot run on this machine; undefined where it can. */
  readonly missing?: (options: Options<D>) => string | undefined
  /** `save` writes the report of what was found until now: who ends a long program early has that. */
  readonly run: (
    options: Options<D> & CommonOptions,
    save: (findings: ProgramFindings) => void,
  ) => Promise<ProgramFindings>
}

/** The codes of the end: a fault, or a program that could not run to its end. */
const codes = { fault: 1, unable: 2, signal: 130 } as const
const closingMsMax = 60_000
const silenceMs = 30_000
const repeatedSignalMs = 2_000
/** A longer timer would end at once. */
const timerMsMax = 2 ** 31 - 1

const progress = { isShown: false, isStarting: false, step: 'its start', since: performance.now() }
const secondsSince = (since: number): string => `${((performance.now() - since) / 1_000).toFixed(0)} s`

/** Says what the program does now: it is shown, and named if the program is ended here. */
export const step = (what: string, isStarting = false): void => {
  Object.assign(progress, { step: what, isStarting, since: performance.now() })
  if (progress.isShown) console.error(`… ${what}`)
}

/** The same for what must be there before anything can be measured: a failure here says nothing about the product. */
export const starting = (what: string): void => step(`starting ${what}`, true)

/** The result of some work, or an error that names it. */
export const within = async <T>(what: string, seconds: number, work: Promise<T>): Promise<T> => {
  const timer = new AbortController()
  const late = wait(seconds * 1_000, undefined, { signal: timer.signal }).then(() => {
    throw new Error(`${what}: not within ${seconds} s`)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    timer.abort()
    late.catch(() => undefined)
  }
}

let ending: Promise<never> | undefined
/** Nothing that the program started outlives it. The first reason to end is the one that counts. */
const endProgram = (code: number): Promise<never> => (ending ??= closeAndExit(code))

const closeAndExit = async (code: number): Promise<never> => {
  await Promise.race([closeAll(), wait(closingMsMax)])
  const left = endDescendants()
  if (left > 0) console.error(`${left} processes were still there and were ended`)
  process.exit(code)
}

/** Ends the program on a signal and at its deadline, and says while it is silent what it waits for. */
const watch = (minutes: number): void => {
  let endingSince: number | undefined
  const end = (why: string, code: number): void => {
    if (endingSince !== undefined) {
      // A terminal and npm may each send the same signal; who sends it again later does not want to wait.
      if (performance.now() - endingSince < repeatedSignalMs) return
      endDescendants()
      process.exit(code)
    }
    endingSince = performance.now()
    console.error(`✗ ${why}; it waited for: ${progress.step} (${secondsSince(progress.since)})`)
    void endProgram(code)
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => end(`ended by ${signal}`, codes.signal))
  const deadlineMs = Math.min(minutes * 60_000, timerMsMax)
  setTimeout(() => end(`not done within ${minutes} minutes`, codes.unable), deadlineMs)
  setInterval(() => {
    if (performance.now() - progress.since > silenceMs)
      console.error(`… ${progress.step}, for ${secondsSince(progress.since)}`)
  }, silenceMs)
}

const isUsage = (error: unknown): error is UsageError => error instanceof UsageError

/** Reads the options, runs the program, prints and writes what it found, and ends with its code. */
export const runProgram = async <D extends OptionDefaults>(
  program: Program<D>,
  words: readonly string[] = process.argv.slice(2),
): Promise<never> => {
  try {
    const options = readOptions(program.options, program.smoke, words)
    const missing = program.missing?.(options)
    if (missing !== undefined) {
      console.error(`✗ npm run ${program.command} cannot run here: ${missing}`)
      return await endProgram(codes.unable)
    }
    progress.isShown = true
    watch(program.minutes(options))
    const { title, about } = program
    const name = program.report ?? program.command.split(' ').at(-1) ?? ''
    const command = ['npm run', program.command, ...words].join(' ')
    const head = { name, title, about, command, load: loadNow() }
    const save = (findings: ProgramFindings): void => {
      if (options.report) writeFindings(head, findings)
    }
    const findings = await program.run(options, save)
    save(findings)
    printFindings(findings, options)
    return await endProgram((findings.faults ?? []).length === 0 ? 0 : codes.fault)
  } catch (error) {
    // What was closed under its work fails.
    if (ending) return await ending
    console.error(isUsage(error) ? `✗ ${error.message}` : error)
    if (!isUsage(error)) console.error(`✗ it failed at: ${progress.step}`)
    return endProgram(isUsage(error) || progress.isStarting ? codes.unable : codes.fault)
  }
}

/** A program that is run with the words of its command line. */
export const programOf =
  <D extends OptionDefaults>(program: Program<D>) =>
  (words: readonly string[]): Promise<never> =>
    runProgram(program, words)
