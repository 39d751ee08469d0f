import { exitCodes, type ExitCode } from './exit-codes.ts'

type ErrorOptions = {
  /** For programs; the code of the service where it refused. */
  readonly code?: string
  readonly exitCode?: ExitCode
  /** What to do, as a sentence. */
  readonly fix?: string | undefined
  readonly cause?: unknown
}

/** A command failed. The program prints the message and the fix, and ends with the exit code. */
export class CommandError extends Error {
  readonly code: string
  readonly exitCode: ExitCode
  readonly fix: string | undefined
  constructor(message: string, options: ErrorOptions = {}) {
    super(message, { cause: options.cause })
    this.code = options.code ?? 'failed'
    this.exitCode = options.exitCode ?? exitCodes.refused
    this.fix = options.fix
  }
}

/** The command was called wrongly. */
export class UsageError extends CommandError {
  constructor(message: string, fix?: string, cause?: unknown) {
    super(message, { code: 'usage', exitCode: exitCodes.usage, fix, cause })
  }
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
