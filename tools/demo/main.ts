// Seeds the database of npm run dev -- --demo, and prints what it made as one line of JSON. It refuses any other database.
import { Client } from 'pg'
import { newDemoDatabase } from '../../packages/server/dev/demo.ts'
import { migrate } from '../../packages/server/src/platform/db/migrate.ts'
import { openServer } from '../../packages/server/test/fixtures/harness.ts'
import { sharePastPartitions } from './past-partitions.ts'
import { makeProgressBar } from './progress-bar.ts'
import { dayMs } from './rhythm.ts'
import { seedDemo, yearOfData } from './seed.ts'

const { DATABASE_URL: url, STRIPE_API_BASE: simulatorUrl } = process.env
if (url === undefined || simulatorUrl === undefined)
  throw new Error('this is started by: npm run dev -- --demo')
const { hostname, pathname, search } = new URL(url)
if (hostname !== '127.0.0.1' || search !== '' || pathname !== `/${newDemoDatabase}`)
  throw new Error(
    `demo data is written into ${newDemoDatabase} on 127.0.0.1 only, not into ${pathname} on ${hostname}`,
  )

await migrate(url)
const client = new Client({ connectionString: url })
await client.connect()
const { rowCount } = await client.query('select from agents limit 1')
if (rowCount !== 0)
  throw new Error(`the database ${newDemoDatabase} has agents: demo data is written into a new one only`)

// Nobody uses this database before it is complete.
await client.query(`alter database ${newDemoDatabase} set synchronous_commit = off`)
const followClock = await sharePastPartitions(client, yearOfData.days)
const server = await openServer({ url, environment: process.env, skewMs: -yearOfData.days * dayMs })
// The card simulator sends its events there.
await server.app.api.listen({ host: '127.0.0.1', port: server.ctx.config.PORT })
try {
  const { days } = yearOfData
  const showProgress = makeProgressBar(days, process.stderr, 'days')
  const startedAt = Date.now()
  const advance = async (ms: number): Promise<void> => {
    await server.advance(ms)
    const now = server.ctx.clock.now().getTime()
    await followClock(now)
    const passedDays = (now - startedAt) / dayMs + days
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
  await client.query(`alter database ${newDemoDatabase} reset synchronous_commit`)
  await client.query('analyze')
  await client.end()
}
