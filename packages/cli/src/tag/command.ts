import type { Command } from 'commander'

/** `pohf tag check`. */
export const addTagCheck = (command: (text: string) => Command): Command =>
  command('check <url>')
    .description(
      'load a page in Chromium and say what is wrong with its check; nothing is submitted. Exit code 1: there are problems',
    )
    .option('--wait <seconds>', 'time for the check to appear after the page has loaded, 0 to 30', '3')
    .option('--json', 'print one JSON object')
    // Loaded on demand: it imports the driver of the browser.
    .action(async (url: string, options) => (await import('./check.ts')).checkTag(url, options))
