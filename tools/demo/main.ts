// Seeds the database of npm run dev -- --demo, and prints what it made as one line of JSON. It refuses any other database.
import { Client } from 'pg'
import { demoDatabase } from '../../packages/server/dev/demo.ts'
import { migrate } from '../../packages/server/src/platform/db/migrate.ts'
import { openServer } from '../../packages/server/test/fixtures/harness.ts'
import { makeProgressBar } from './progress-bar.ts'
import { dayMs } from './rhythm.ts'
import { seedDemo, yearOfData } from './seed.ts'

const { DATABASE_URL: url, STRIPE_API_BASE: simulatorUrl } = process.env
if (url === undefined || simulatorUrl === undefined)
  throw new Error('this is started by: npm run dev -- --demo')
const { hostname, pathname, search } = new URL(url)
if (hostname !== '127.0.0.1' || search !== '' || pathname !== `/${demoDatabase}`)
  throw new Error(
    `demo data is written into ${demoDatabase} on 127.0.0.1 only, not into ${pathname} on ${hostname}`,
  )

await migrate(url)
const client = new Client({ connectionString: url })
await client.connect()
const { rowCount } = await client.query('select from agents limit 1')
if (rowCount !== 0)
  throw new Error(`the database ${demoDatabase} has agents: demo data is written into a new one only`)

const server = await openServer({ url, environment: process.env, skewMs: -yearOfData.days * dayMs })
// The card simulator sends its events there.
await server.app.api.listen({ host: '127.0.0.1', port: server.ctx.config.PORT })
try {
  const { days } = yearOfData
  const showProgress = makeProgressBar(days, process.stderr, 'days')
  const startedAt = Date.now()
  const advance = async (ms: number): Promise<void> => {
    await server.advance(ms)
    const passedDays = (server.ctx.clock.now().getTime() - startedAt) / dayMs + days
    showProgress(Math.min(days, Math.floor(passedDays)))
  }
  const seeded = await seedDemo({ ...server, advance }, yearOfData, async (sessionId) => {
    const response = await fetch(`${simulatorUrl}/control/sessions/${sessionId}/pay`, {
      method: 'POST',
      body: '{}',
    })
    if (!response.ok)
      throw new Error(`the card simulator answered ${response.status}: ${await response.text()}`)
  })
  if (seeded.faults.length > 0)
    throw new Error(`the demo data is not consistent: ${seeded.faults.join('; ')}`)
  const { faults: _, ...access } = seeded
  console.log(
    JSON.stringify({ ...access, seededAt: new Date().toISOString(), baseUrl: server.ctx.config.BASE_URL }),
  )
} finally {
  await server.close()
  // As the migrations define it.
  await client.query(
    'create or replace function pohf_now() returns timestamptz language sql stable parallel safe as $$ select transaction_timestamp() $$',
  )
  await client.query('update platform_clock set seen_at = pohf_now(), set_back_at = null')
  await client.query('analyze')
  await client.end()
}
