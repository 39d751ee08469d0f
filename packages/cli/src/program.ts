import { readFileSync } from 'node:fs'
import { sentence } from '@pohf/protocol/story'
import { Command } from 'commander'
import { accountGroup } from './account/commands.ts'
import { administrationGroup } from './administration/commands.ts'
import { formatHelp, showHelp, type CommandGroup } from './command/help.ts'
import { addCommonOptions, helpOption } from './command/options.ts'
import { approvalsGroup } from './approvals/commands.ts'
import { eventsGroup } from './events/commands.ts'
import { proofGroup } from './proof/commands.ts'
import { purchasesGroup } from './purchases/commands.ts'
import { serverGroup } from './server/commands.ts'
import { siteGroup } from './site/commands.ts'

/** In the order of the help. */
export const commandGroups: readonly CommandGroup[] = [
  accountGroup,
  proofGroup,
  siteGroup,
  eventsGroup,
  purchasesGroup,
  approvalsGroup,
  serverGroup,
  administrationGroup,
]

const readVersion = (): string => {
  const file = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  return (JSON.parse(file) as { version: string }).version
}

/** The program with every command. It parses nothing yet. */
export const createProgram = (): Command => {
  const program = new Command('pohf')
    .description(
      `${sentence}\n\nA name in parentheses is a group: pohf help GROUP lists its commands with examples.`,
    )
    .usage('COMMAND [options]')
    .configureHelp({ formatHelp })
    .addHelpOption(helpOption())
    .showHelpAfterError('Add --help for the options and examples of the command.')
    .exitOverride()
    .version(readVersion(), '-V, --version', 'show the version')
  const groups = new Map<CommandGroup, readonly Command[]>()
  for (const group of commandGroups) {
    const before = program.commands.length
    program.commandsGroup(`${group.title} (${group.name}):`)
    group.add(program)
    groups.set(group, program.commands.slice(before))
  }
  program.commandsGroup('Help:')
  program
    .command('help [names...]')
    .description('show the help of a group or a command, or with exit-codes what they mean')
    .action((names: string[]) => showHelp(program, groups, names))
  addCommonOptions(program)
  return program
}
