import { Option, type Command } from 'commander'
import type { CommandGroup } from '../command/help.ts'
import { addAgent, addLocal } from '../command/options.ts'

const addTag = (program: Command): void => {
  addAgent(
    program.command('tag').description('check the tag in a page'),
    'check <url>',
    'load a page in Chromium and say what is wrong with its check; nothing is submitted',
    'tag check https://shop.example/register --url https://pohf.example',
  )
    .option('--wait <seconds>', 'time for the check to appear after the page has loaded, 0 to 30', '3')
    // Loaded on demand: it imports the driver of the browser.
    .action(async (url: string, options) => (await import('./tag/check.ts')).checkTag(url, options))
}

/** The check in a page, and how well it tells people from bots. */
export const siteGroup: CommandGroup = {
  name: 'site',
  title: 'Site: the check in your pages, and how well it tells people from bots',
  examples: [
    'tag check https://shop.example/register --url https://pohf.example',
    'attack bot.ts --site agt_0123 --sessions 2',
  ],
  add: (program) => {
    addTag(program)
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
