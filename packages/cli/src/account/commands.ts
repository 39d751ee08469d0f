import { Option, type Command } from 'commander'
import type { CommandGroup } from '../command/help.ts'
import { addAgent, addLocal, addPublic } from '../command/options.ts'
import { addRequests } from './requests.ts'

const addKeyCommands = (program: Command): void => {
  addPublic(
    program,
    'register',
    'get an API key, and keep it as pohf login does',
    "register --name 'My shop' --email me@shop.example",
    "register --url https://pohf.example --name 'My shop' --email me@shop.example --mode live",
  )
    .requiredOption('--name <name>', 'name of your agent, as people see it')
    .requiredOption('--email <address>', 'contact address')
    .addOption(new Option('--mode <mode>', 'test keys are free').choices(['test', 'live']).default('test'))
    .option('--no-login', 'print the key and do not keep it')
    .action(async (options) => (await import('./register.ts')).register(options))
  addPublic(
    program,
    'login',
    'keep an API key in a file that you alone can read; it is asked for, or read from standard input',
    'login --url https://pohf.example',
    'login < key.txt',
  )
    .addOption(
      new Option(
        '--key <key>',
        'the key; other users of the machine can read it there while the command runs',
      ).env('POHF_KEY'),
    )
    .action(async ({ key, ...options }) => (await import('./login.ts')).login({ ...options, namedKey: key }))
  addLocal(program, 'logout', 'delete the key that pohf login or register kept', 'logout').action(
    async (options) => (await import('./login.ts')).logout(options),
  )
}

/** The agent's own account. */
export const accountGroup: CommandGroup = {
  name: 'account',
  title: 'Account: your key, your credits and your requests',
  examples: ["register --name 'My shop' --email me@shop.example", 'balance', 'requests list --status 4xx'],
  add: (program) => {
    addKeyCommands(program)
    addAgent(
      program,
      'balance',
      'show your credits and free verifications',
      'balance',
      'balance --json',
    ).action(async (options) => (await import('./balance.ts')).showBalance(options))
    addAgent(
      program,
      'usage',
      'show usage by day or hour, the quality of sessions, and how long the credits last',
      'usage --bucket hour',
    )
      .option('--bucket <size>', 'day or hour', 'day')
      .option('--since <time>', 'start; default: 30 days or 48 hours ago')
      .option('--until <time>', 'end; default: now')
      .action(async (options) => (await import('./usage.ts')).showUsage(options))
    addRequests(program)
  },
}
