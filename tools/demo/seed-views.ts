// npx node tools/demo/seed-views.ts --rows 100000
// Fills the pages Attention and Funnel of a development installation. It takes no address: it writes only into the database
// that npm run dev made beside this checkout, so that no other one can be meant.
import { existsSync, readFileSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Pool } from 'pg'
import { clusterFolder, developmentUrl } from '../../packages/server/dev/cluster-folder.ts'
import { demoDatabase, demoFolder } from '../../packages/server/dev/demo.ts'
import { readConfig } from '../../packages/server/src/platform/ops/config.ts'
import { makeProgressBar } from './progress-bar.ts'
import { seedViews } from './view-rows.ts'

const rowsMax = 50_000_000
const daysMax = 90
/** 100,000 views with their visits took 180 MB, with the indexes. */
const bytesPerView = 2_000

const usage = 'npx node tools/demo/seed-views.ts --rows 100000 [--days 30] [--seed 1] [--demo]'
const format = (count: number): string => count.toLocaleString('en')

const readOptions = () => {
  try {
    return parseArgs({
      options: {
        rows: { type: 'string', default: '10000' },
        days: { type: 'string', default: '30' },
        seed: { type: 'string', default: '1' },
        demo: { type: 'boolean', default: false },
      },
    }).values
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    // Node calls the value of "--rows -5" ambiguous.
    const reason =
      code === 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE'
        ? 'an option has no value, or one that begins with "-"'
        : message
    throw new Error(`${reason}\nUsage: ${usage}`, { cause: error })
  }
}
const wholeNumber = (name: string, text: string, most: number): number => {
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= 1 && value <= most) return value
  throw new Error(`--${name} must be a whole number from 1 to ${most}, not "${text}"\nUsage: ${usage}`)
}

/** The test agent of a running npm run dev, and the database in which it is. */
const findInstallation = async (isDemo: boolean) => {
  if (process.env['DATABASE_URL'])
    throw new Error(
      'DATABASE_URL is set: demo views are written only into the database that npm run dev makes itself',
    )
  const { DATA_DIR } = readConfig({ ...process.env, DATABASE_URL: 'postgres://placeholder/dev' })
  const folder = isDemo ? demoFolder(DATA_DIR) : DATA_DIR
  const agentFile = join(folder, 'dev-agent.json')
  const url = await developmentUrl(DATA_DIR, isDemo ? demoDatabase : undefined)
  if (url === undefined || !existsSync(agentFile))
    throw new Error(
      `npm run dev${isDemo ? ' -- --demo' : ''} does not run here. Start it in another terminal, wait for "PoHF is ready", and keep it running`,
    )
  const { agentId } = JSON.parse(readFileSync(agentFile, 'utf8')) as { agentId: string }
  const variables = join(DATA_DIR, 'dev.env')
  const [, service = ''] = existsSync(variables)
    ? (/^export POHF_URL='([^']*)'$/m.exec(readFileSync(variables, 'utf8')) ?? [])
    : []
  return { url, agentId, consoleUrl: `${service}/console`, dataFolder: clusterFolder(DATA_DIR) }
}

const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(1)} GB`
const checkSpace = (folder: string, rows: number): void => {
  const { bavail, bsize } = statfsSync(folder)
  if (rows * bytesPerView > bavail * bsize)
    throw new Error(
      `${format(rows)} views need about ${gigabytes(rows * bytesPerView)}, and the disk of the database has ${gigabytes(bavail * bsize)} left`,
    )
}

/** Ctrl-C ends after the batch that runs; a second one ends at once. */
const stopOnInterrupt = (): AbortSignal => {
  const controller = new AbortController()
  process.once('SIGINT', () => controller.abort())
  return controller.signal
}

const main = async (): Promise<void> => {
  const values = readOptions()
  const rows = wholeNumber('rows', values.rows, rowsMax)
  const days = wholeNumber('days', values.days, daysMax)
  const seed = wholeNumber('seed', values.seed, 2 ** 31)
  const { url, agentId, consoleUrl, dataFolder } = await findInstallation(values.demo)
  checkSpace(dataFolder, rows)
  // The owner of the tables: no policy hides a row from it.
  const owner = new Pool({ connectionString: url, max: 1 })
  try {
    const { rowCount } = await owner.query("select from agents where agent_id = $1 and mode = 'test'", [
      agentId,
    ])
    if (rowCount !== 1) throw new Error(`${agentId} is not a test agent in the database of npm run dev`)
    console.error(`Adding ${format(rows)} views of the last ${days} days to ${agentId}.`)
    const done = await seedViews(
      { owner },
      {
        agentId,
        mode: 'test',
        rows,
        days,
        // Ids are made from the seed: a second run adds other views.
        seed: seed + Date.now(),
        onProgress: makeProgressBar(rows, process.stderr),
        signal: stopOnInterrupt(),
      },
    )
    await owner.query('analyze sessions, track_views, track_events, conversions')
    if (process.stderr.isTTY) console.error()
    if (done < rows) process.exitCode = 130
    console.log(
      `${done < rows ? `Stopped. ${format(done)} of ${format(rows)}` : format(done)} views are written, with "demo" in their ids. A second run adds more.
Open ${consoleUrl}#/attention and ${consoleUrl}#/funnel with the test key that npm run dev printed.`,
    )
  } finally {
    await owner.end()
  }
}

try {
  await main()
} catch (error) {
  console.error(`seed-views: ${error instanceof Error ? error.message : String(error)}`)
  process.exitCode = 1
}
