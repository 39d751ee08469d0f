#!/usr/bin/env node
import { CommanderError, type Command } from 'commander'
import { CommandError } from './command/errors.ts'
import { exitCodes } from './command/exit-codes.ts'
import { unsetEmptyVariables } from './command/options.ts'
import { createProgram } from './program.ts'

/** With `--json`, standard output has an object also where a command fails. */
const printFailure = (isJson: boolean, { code, message, fix }: CommandError): void => {
  console.error(fix === undefined ? message : `${message}\nFix: ${fix}`)
  if (isJson) console.log(JSON.stringify({ ok: false, error: code, message, ...(fix && { fix }) }))
}

/** Runs the command of the arguments; an error that the user can correct has no stack trace. */
const run = async (program: Command, parameters: readonly string[]): Promise<void> => {
  const isJson = parameters.includes('--json')
  try {
    await program.parseAsync(parameters.length === 0 ? ['--help'] : [...parameters], { from: 'user' })
  } catch (error) {
    if (error instanceof CommandError) {
      printFailure(isJson, error)
      process.exitCode = error.exitCode
    } else if (error instanceof CommanderError) {
      // The parser has printed it already.
      if (error.exitCode === 0) return
      if (isJson) console.log(JSON.stringify({ ok: false, error: 'usage', message: error.message }))
      process.exitCode = exitCodes.usage
    } else throw error
  }
}

unsetEmptyVariables()
await run(createProgram(), process.argv.slice(2))
