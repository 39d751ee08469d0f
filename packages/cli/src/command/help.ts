import { Help, type Command } from 'commander'
import { UsageError } from './errors.ts'
import { exitCodeMeanings } from './exit-codes.ts'
import { examplesOf } from './options.ts'

/** Commands that belong together, as the help shows them. */
export type CommandGroup = {
  /** The argument of `pohf help`. */
  readonly name: string
  readonly title: string
  readonly examples: readonly string[]
  readonly add: (program: Command) => void
}

const linesOf = (calls: readonly string[]): string =>
  calls.length === 0 ? '' : `\nExamples:\n${calls.map((call) => `  pohf ${call}\n`).join('')}`

/** The help that commander writes, with examples. */
export const formatHelp = (command: Command, helper: Help): string =>
  Help.prototype.formatHelp.call(helper, command, helper) + linesOf(examplesOf(command))

const leavesOf = (command: Command): Command[] =>
  command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf)

const pathOf = (command: Command): string =>
  command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name()

/** The name and arguments of a command, as one calls it. */
const usageOf = (command: Command): string =>
  [
    pathOf(command),
    ...command.registeredArguments.map((argument) => {
      const name = `${argument.name()}${argument.variadic ? '...' : ''}`
      return argument.required ? `<${name}>` : `[${name}]`
    }),
  ].join(' ')

/** The commands of a group with every command below them. */
const groupHelp = (group: CommandGroup, commands: readonly Command[]): string => {
  const leaves = commands.flatMap(leavesOf)
  const width = Math.max(...leaves.map((command) => usageOf(command).length))
  const lines = leaves.map((command) => `  ${usageOf(command).padEnd(width)}  ${command.description()}`)
  return `${group.title}\n\nCommands:\n${lines.join('\n')}\n${linesOf(group.examples)}
Add --help to a command for its options.
`
}

const exitCodeHelp = (): string =>
  `Exit codes:\n${[...exitCodeMeanings].map(([code, meaning]) => `  ${code}  ${meaning.replaceAll('`', '')}`).join('\n')}\n`

/** `pohf help`, with the name of a group or of a command. */
export const showHelp = (
  program: Command,
  groups: ReadonlyMap<CommandGroup, readonly Command[]>,
  names: readonly string[],
): void => {
  const [first] = names
  if (first === 'exit-codes') return void process.stdout.write(exitCodeHelp())
  for (const [group, commands] of groups)
    if (names.length === 1 && group.name === first)
      return void process.stdout.write(groupHelp(group, commands))
  let command = program
  for (const name of names) {
    const inner = command.commands.find((one) => one.name() === name)
    if (!inner)
      throw new UsageError(
        `There is no command or group ${names.join(' ')}.`,
        `Run pohf help, or pohf help with one of: ${[...groups.keys()].map((group) => group.name).join(', ')}.`,
      )
    command = inner
  }
  command.outputHelp()
}
