// Measurements of the product's own bars. npm run bench -- <name> [--json] [--sessions N,N --seconds N --report]
import { beacons } from './beacons/beacons.ts'
import { check } from './check.ts'
import { costs } from './growth/costs.ts'
import { engines } from './engines/engines.ts'
import { growth } from './growth/growth.ts'
import { lists } from './lists/lists.ts'
import { mails } from './mails.ts'
import { metrics } from './metrics/metrics.ts'
import { paint } from './paint/paint.ts'
import { purchase } from './purchase/purchase.ts'
import { roots } from './roots.ts'
import { sessions } from './sessions.ts'
import { verify } from './verify.ts'
import { verifySdk } from './verify-sdk.ts'
import { verifyStatistics } from './verify-statistics.ts'
import { webhooksBench } from './webhooks.ts'

const benches: Readonly<Record<string, () => Promise<Readonly<Record<string, unknown>>>>> = {
  verify,
  roots,
  'verify-sdk': verifySdk,
  'verify-statistics': verifyStatistics,
  sessions,
  purchase,
  webhooks: webhooksBench,
  check,
  costs,
  growth,
  metrics,
  beacons,
  engines,
  lists,
  mails,
  paint,
}

const [name = ''] = process.argv.slice(2)
const bench = benches[name]
if (bench) {
  const figures = await bench()
  if (process.argv.includes('--json')) console.log(JSON.stringify(figures))
} else {
  console.error(`usage: npm run bench -- ${Object.keys(benches).join(' | ')} [--short] [--json]`)
  process.exitCode = 2
}
