import { Option, type Command } from 'commander'
import type { CommandGroup } from '../command/help.ts'
import { addAgent, addLocal } from '../command/options.ts'

const addTag = (program: Command): void => {
  addAgent(
    program.command('tag').description('check the tag in a page'),
    'check <url>',
    'load a page in Chromium and say what is wrong with its scripts of ours; nothing is submitted',
    'tag check https://shop.example/register --url https://pohf.example',
  )
    .option('--wait <seconds>', 'time for the check to appear after the page has loaded, 0 to 30', '3')
    // Loaded on demand: it imports the driver of the browser.
    .action(async (url: string, options) => (await import('./tag/check.ts')).checkTag(url, options))
}

const loadTasks = () => import('./tasks.ts')

const addTasks = (program: Command): void => {
  const tasks = program.command('tasks').description('run campaigns of micro-tasks on your pages')
  addAgent(
    tasks,
    'create <file>',
    'create a campaign from a JSON array of {"prompt", "options", "answer"} and fund its budget',
    "tasks create questions.json --name 'Shoes' --reward-stars 2 --budget-stars 200",
  )
    .requiredOption('--name <text>', 'name of the campaign')
    .option('--reward-stars <number>', 'Stars for a right answer of a member, 0 to 100')
    .option('--agreement <number>', 'how many people must agree, 2 to 5')
    .option('--budget-stars <number>', 'Stars of the budget')
    .option('--idempotency-key <key>', 'repeat the command with the same key and it acts once')
    .action(async (file: string, options) => (await loadTasks()).create(file, options))
  addAgent(tasks, 'list', 'list your campaigns, newest first', 'tasks list').action(async (options) =>
    (await loadTasks()).list(options),
  )
  addAgent(tasks, 'show <campaignId>', 'show a campaign with its answers', 'tasks show cpg_0123').action(
    async (campaignId: string, options) => (await loadTasks()).show(campaignId, options),
  )
  for (const [name, status, text] of [
    ['pause', 'paused', 'show its tasks to nobody for now'],
    ['resume', 'active', 'show its tasks again'],
    ['end', 'ended', 'end a campaign and return the unspent budget'],
  ] as const)
    addAgent(tasks, `${name} <campaignId>`, text, `tasks ${name} cpg_0123`).action(
      async (campaignId: string, options) => (await loadTasks()).change(campaignId, status, options),
    )
}

const addPartner = (program: Command): void => {
  addAgent(
    program.command('partner').description('read what you owe as a partner'),
    'statement',
    'print the conversions and payouts of a window as CSV, with running totals',
    'partner statement --since 2026-03-01 --until 2026-04-01 > march.csv',
  )
    .requiredOption('--since <date>', 'first day or time')
    .requiredOption('--until <date>', 'end, not included; at most 92 days later')
    .action(async (options) => (await loadTasks()).statement(options))
}

/** The check in a page, and how well it tells people from bots. */
export const siteGroup: CommandGroup = {
  name: 'site',
  title: 'Site: the check and the micro-tasks in your pages, and how well the check tells people from bots',
  examples: [
    'tag check https://shop.example/register --url https://pohf.example',
    'attack bot.ts --site agt_0123 --sessions 2',
  ],
  add: (program) => {
    addTag(program)
    addTasks(program)
    addPartner(program)
    addAgent(
      program,
      'attack <bot>',
      'run a bot of yours against a server of yours; see docs/guides/arena.md',
      'attack bot.ts --site agt_0123 --sessions 2',
    )
      .requiredOption('--site <agentId>', 'agent whose site is attacked')
      .option('--sessions <number>', 'number of sessions', '5')
      .option('--library <file>', 'file with recorded human strokes for the bot')
      .addOption(new Option('--base-url <url>').hideHelp())
      .action(async (bot: string, options) => (await import('./attack.ts')).attack(bot, options))
    addLocal(
      program,
      'calibrate <folder>',
      'calibrate pointer motion on a platform from sessions of consenting people, one folder for each person',
      'calibrate people --platform linux --out calibrations.json',
    )
      .requiredOption('--platform <name>', 'windows, mac, linux, chromeos, android, ios or other')
      .option('--out <file>', 'file to which the calibration is written', 'calibrations.json')
      .action(async (folder: string, options) =>
        (await import('./calibrate.ts')).calibrateFolder(folder, options),
      )
  },
}
