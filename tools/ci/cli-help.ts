import { createProgram } from '../../packages/cli/src/program.ts'

type Command = ReturnType<typeof createProgram>
type CommandHelp = { readonly command: string; readonly help: string }

/** The width of help texts is fixed: a terminal's would change where lines break. */
const helpWidth = 120

const helpOf = (command: Command, parents: readonly string[] = []): CommandHelp[] => {
  command.configureOutput({ getOutHelpWidth: () => helpWidth })
  const names = [...parents, command.name()]
  return [
    { command: names.join(' '), help: command.helpInformation().trimEnd() },
    ...command.commands.flatMap((inner) => helpOf(inner, names)),
  ]
}

/** The help of `pohf` and of every command below it. */
export const readCliHelp = (): CommandHelp[] => helpOf(createProgram())
