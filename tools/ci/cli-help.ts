import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

type CliCommand = {
  readonly commands: readonly CliCommand[]
  readonly name: () => string
  readonly helpInformation: () => string
  readonly configureOutput: (output: { getOutHelpWidth: () => number }) => unknown
}

export type CommandHelp = { readonly command: string; readonly help: string }

/** The width of help texts is fixed: a terminal's would change where lines break. */
const helpWidth = 200

const helpOf = (command: CliCommand, parents: readonly string[] = []): CommandHelp[] => {
  command.configureOutput({ getOutHelpWidth: () => helpWidth })
  const names = [...parents, command.name()]
  return [
    { command: names.join(' '), help: command.helpInformation().trimEnd() },
    ...command.commands.flatMap((inner) => helpOf(inner, names)),
  ]
}

/**
 * The help of `pohf` and of every command below it. The program parses its arguments as it is loaded, so that call is
 * replaced by one that hands the program over.
 */
export const readCliHelp = async (): Promise<CommandHelp[]> => {
  const main = new URL('../../packages/cli/src/main.ts', import.meta.url)
  const library = pathToFileURL(createRequire(main).resolve('commander')).href
  const { Command } = (await import(library)) as { Command: { prototype: Record<string, unknown> } }
  const { parseAsync } = Command.prototype
  const loaded: CliCommand[] = []
  Command.prototype['parseAsync'] = async function parse(this: CliCommand) {
    loaded.push(this)
  }
  try {
    await import(main.href)
  } finally {
    Command.prototype['parseAsync'] = parseAsync
  }
  const [program] = loaded
  if (!program) throw new Error('the command line program did not parse its arguments')
  return helpOf(program)
}
