// npm run arena -- --base-url URL --site AGENT [--family F] [--bot FILE] [--sessions N] [--library FILE] [--page URL]
import { parseArgs } from 'node:util'
import { bots, closeBrowser, loadBot, needsBrowser } from './bots/index.ts'
import { readLibrary } from './library.ts'
import { runBot, type BotRunResult, tableOf } from './run.ts'

const usage = `Plays bots against a running server and prints what became of their sessions.

  --base-url URL    the server (default http://127.0.0.1:3000)
  --site AGENT      the agent whose site is attacked
  --key KEY         a key of that agent, to read verdicts (or POHF_KEY)
  --family NAME     one of: ${[...bots.keys()].join(', ')}; may be repeated; default: all
  --bot FILE        a file that exports a function bot; instead of --family
  --sessions N      for each bot (default 5)
  --concurrency N   at a time (default 5)
  --browser-sessions N, --browser-concurrency N
                    the same for bots that drive a browser (default 3 and 1)
  --library FILE    human strokes that the attacker owns (.csv table, users 101 to 120; or .json)
  --page URL        a page with the check, for bots that drive a browser
  --seed N          (default 1)
  --json            print every session as JSON instead of the table`

const whole = (text: string, max: number): number => {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1 || value > max)
    throw new Error(`not a whole number from 1 to ${max}: ${text}`)
  return value
}

const { values } = parseArgs({
  options: {
    'base-url': { type: 'string', default: 'http://127.0.0.1:3000' },
    site: { type: 'string' },
    key: { type: 'string' },
    family: { type: 'string', multiple: true },
    bot: { type: 'string' },
    sessions: { type: 'string', default: '5' },
    concurrency: { type: 'string', default: '5' },
    'browser-sessions': { type: 'string', default: '3' },
    'browser-concurrency': { type: 'string', default: '1' },
    library: { type: 'string' },
    page: { type: 'string' },
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

const main = async (): Promise<number> => {
  if (values.help || values.site === undefined) {
    console.log(usage)
    return values.help ? 0 : 2
  }
  const names = values.bot === undefined ? (values.family ?? [...bots.keys()]) : [values.bot]
  const library = values.library === undefined ? [] : readLibrary(values.library)
  const results: BotRunResult[] = []
  for (const name of names) {
    const bot = values.bot === undefined ? bots.get(name) : await loadBot(name)
    if (!bot) throw new Error(`unknown bot family ${name}; there are ${[...bots.keys()].join(', ')}`)
    const result = await runBot({
      name,
      bot,
      target: { baseUrl: values['base-url'], site: values.site },
      pageUrl: values.page,
      library,
      sessions: whole(needsBrowser(name) ? values['browser-sessions'] : values.sessions, 100_000),
      concurrency: whole(needsBrowser(name) ? values['browser-concurrency'] : values.concurrency, 1_000),
      seed: whole(values.seed, 1_000_000),
      apiKey: values.key ?? process.env['POHF_KEY'] ?? process.env['POHF_API_KEY'],
    })
    results.push(result)
    console.error(`${name}: ${result.verified} of ${result.played.length} verified`)
  }
  console.log(values.json ? JSON.stringify(results, null, 2) : tableOf(results))
  return 0
}

// An end by signal still ends what the bots have started.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
try {
  process.exitCode = await main()
} finally {
  await closeBrowser()
}
