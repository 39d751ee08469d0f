// npm run seed:views -- --rows 100000: fills the pages Attention and Funnel of a development installation. It takes no address:
// it writes only into the database that npm run dev made beside this checkout, so that no other one can be meant.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Pool } from 'pg'
import { developmentUrl } from '../../packages/server/dev/cluster-folder.ts'
import { demoDatabase, demoFolder } from '../../packages/server/dev/demo.ts'
import { readConfig } from '../../packages/server/src/platform/ops/config.ts'
import { seedViews } from './view-rows.ts'

const rowsMax = 50_000_000
const daysMax = 90

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '10000' },
    days: { type: 'string', default: '30' },
    seed: { type: 'string', default: '1' },
    demo: { type: 'boolean', default: false },
  },
})
const wholeNumber = (name: 'rows' | 'days' | 'seed', most: number): number => {
  const value = Number(values[name])
  if (Number.isInteger(value) && value >= 1 && value <= most) return value
  throw new Error(`--${name} must be a whole number from 1 to ${most}`)
}

const barWidth = 32
/** One line that is written again; where there is no terminal, a line for each tenth. */
const makeProgressBar = (total: number) => {
  const startedAt = performance.now()
  let lastTenth = 0
  return (done: number): void => {
    const share = done / total
    const tenth = Math.floor(share * 10)
    if (!process.stderr.isTTY && tenth === lastTenth) return
    lastTenth = tenth
    const filled = Math.round(share * barWidth)
    const bar = `${'█'.repeat(filled)}${'░'.repeat(barWidth - filled)}`
    const rate = Math.round(done / ((performance.now() - startedAt) / 1_000))
    const line = `${bar} ${(share * 100).toFixed(0).padStart(3)}%  ${done.toLocaleString('en')} views, ${rate.toLocaleString('en')}/s`
    process.stderr.write(process.stderr.isTTY ? `\r\u001b[K${line}` : `${line}\n`)
  }
}

const rows = wholeNumber('rows', rowsMax)
const days = wholeNumber('days', daysMax)
const seed = wholeNumber('seed', 2 ** 31)
if (process.env['DATABASE_URL'])
  throw new Error(
    'DATABASE_URL is set: demo views are written only into the database that npm run dev makes itself',
  )
const { DATA_DIR } = readConfig({ ...process.env, DATABASE_URL: 'postgres://placeholder/dev' })
const folder = values.demo ? demoFolder(DATA_DIR) : DATA_DIR
const agentFile = join(folder, 'dev-agent.json')
const url = await developmentUrl(DATA_DIR, values.demo ? demoDatabase : undefined)
if (url === undefined || !existsSync(agentFile))
  throw new Error(`start it first, and keep it running: npm run dev${values.demo ? ' -- --demo' : ''}`)
const { agentId } = JSON.parse(readFileSync(agentFile, 'utf8')) as { agentId: string }

// The owner of the tables: no policy hides a row from it.
const owner = new Pool({ connectionString: url, max: 1 })
try {
  const { rowCount } = await owner.query('select from agents where agent_id = $1', [agentId])
  if (rowCount !== 1) throw new Error(`the test agent ${agentId} is not in the database of npm run dev`)
  await seedViews(
    { owner },
    { agentId, mode: 'test', rows, days, seed: seed + Date.now(), onProgress: makeProgressBar(rows) },
  )
  await owner.query('analyze sessions, track_views, track_events, conversions')
} finally {
  await owner.end()
}
if (process.stderr.isTTY) process.stderr.write('\n')
console.log(
  `${rows.toLocaleString('en')} views of the last ${days} days for ${agentId}, marked as demo. Open the console: #/attention and #/funnel`,
)
