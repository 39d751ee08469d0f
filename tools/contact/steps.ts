import type { Config } from '../../packages/server/src/platform/ops/config.ts'
import { makeLogger } from '../../packages/server/src/platform/ops/log.ts'
import { systemClock } from '../../packages/server/src/platform/ops/clock.ts'
import { secretSettings } from '../../packages/server/src/platform/ops/secret-settings.ts'

/** Why a step failed, and what the operator does about it. */
export class StepFailure extends Error {
  readonly advice: string
  constructor(reason: string, advice: string, options?: ErrorOptions) {
    super(reason, options)
    this.advice = advice
  }
}

export type Options = {
  /** The mailbox that gets the mail. */
  readonly to: string | undefined
  /** Of the listener that waits for webhooks or for a browser. */
  readonly port: number | undefined
  /** How long a step waits for a person. */
  readonly waitSeconds: number
  /** The workflow of which one unit is bought with the wallet of PAYER_PRIVATE_KEY. */
  readonly spend: string | undefined
}

export type Input = {
  readonly config: Config
  readonly environment: NodeJS.ProcessEnv
  readonly options: Options
  readonly step: StepRunner
  /** Tells the operator what to do now. */
  readonly say: (text: string) => void
  /** What only a person can see, for the end of the report. */
  readonly leaveToPerson: (text: string) => void
}
/** Runs one step. `note` records what was found; the first step that throws ends the run. */
type StepRunner = <T>(sentence: string, act: (note: (found: string) => void) => T | Promise<T>) => Promise<T>

type StepOutcome = {
  readonly sentence: string
  readonly passed: boolean
  /** What was found, or the reason and the advice. */
  readonly details: readonly string[]
}
export type Run = {
  readonly outcomes: readonly StepOutcome[]
  readonly leftToPerson: readonly string[]
  readonly passed: boolean
}

/** What the service's own clients need of its context. Their log lines would repeat what a step reports. */
export const clientContextOf = (config: Config) => ({
  config,
  log: makeLogger('silent'),
  clock: systemClock,
})

/** Secrets that are no settings of the service. */
const otherSecrets = ['GITHUB_TOKEN', 'PAYER_PRIVATE_KEY'] as const

/** The values that neither the terminal nor a report may show, with the user and password inside an address. */
const secretsOf = (config: Config, environment: NodeJS.ProcessEnv): string[] => {
  const values = [
    ...secretSettings.flatMap((name) => {
      const value = config[name]
      return value instanceof Map ? [...value.values()] : [value]
    }),
    ...otherSecrets.map((name) => environment[name]),
  ].filter((value) => typeof value === 'string')
  const inside = values.flatMap((value) => {
    if (!URL.canParse(value)) return []
    const { username, password, pathname, search } = new URL(value)
    return [username, password, decodeURIComponent(username), decodeURIComponent(password), pathname, search]
  })
  // A path of a few characters holds no key, and its removal would spoil other words.
  return [...values, ...inside.filter((part) => part.length >= 6)].filter((secret) => secret !== '')
}

/** Cuts every secret out of a text. */
const makeRedact = (config: Config, environment: NodeJS.ProcessEnv): ((text: string) => string) => {
  const secrets = secretsOf(config, environment).toSorted((one, other) => other.length - one.length)
  return (text) => secrets.reduce((rest, secret) => rest.replaceAll(secret, '[secret]'), text)
}

/** The message of an error and of what caused it, with the code of a connection that failed. */
export const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error && typeof error.code === 'string' ? ` (${error.code})` : ''
  const cause = error.cause instanceof Error ? `: ${reasonOf(error.cause)}` : ''
  return `${error.message || error.name}${error.message.includes(code.trim()) ? '' : code}${cause}`
}

const unexpectedAdvice = 'Nothing is known about this failure: read its reason, and try again.'

/** Runs a contact until its end or its first failed step. */
export const runSteps = async (
  contact: (input: Input) => Promise<void>,
  input: Omit<Input, 'step' | 'say' | 'leaveToPerson'>,
  write: (line: string) => void,
): Promise<Run> => {
  const redact = makeRedact(input.config, input.environment)
  const outcomes: StepOutcome[] = []
  const leftToPerson: string[] = []
  const record = (outcome: StepOutcome): void => {
    outcomes.push(outcome)
    write(`${outcome.passed ? '✓' : '✗'} ${outcome.sentence}`)
    for (const detail of outcome.details) write(`    ${detail}`)
  }
  const step: StepRunner = async (sentence, act) => {
    const found: string[] = []
    try {
      const value = await act((text) => void found.push(redact(text)))
      record({ sentence, passed: true, details: found })
      return value
    } catch (error) {
      const advice = error instanceof StepFailure ? error.advice : unexpectedAdvice
      record({
        sentence,
        passed: false,
        details: [...found, redact(reasonOf(error)), `What to do: ${redact(advice)}`],
      })
      throw error
    }
  }
  const say = (text: string): void => write(`  … ${redact(text)}`)
  const leaveToPerson = (text: string): void => void leftToPerson.push(redact(text))
  try {
    await contact({ ...input, step, say, leaveToPerson })
  } catch (error) {
    // A failed step is recorded; any other error is a fault of the command.
    if (outcomes.at(-1)?.passed !== false) throw error
  }
  for (const text of leftToPerson) write(`☐ ${text}`)
  return { outcomes, leftToPerson, passed: outcomes.length > 0 && outcomes.every(({ passed }) => passed) }
}
