// Measurements of the product's own bars: npm run bench -- NAME [options…]. Each refuses an unknown option with its list.
type RunBench = (words: readonly string[]) => Promise<never>

/** Each is loaded when it is run: most load the whole server. */
const benches: Readonly<Record<string, () => Promise<RunBench>>> = {
  verify: async () => (await import('./verify.ts')).verify,
  roots: async () => (await import('./roots.ts')).roots,
  'verify-sdk': async () => (await import('./verify-sdk.ts')).verifySdk,
  'verify-statistics': async () => (await import('./verify-statistics.ts')).verifyStatistics,
  sessions: async () => (await import('./sessions.ts')).sessions,
  purchase: async () => (await import('./purchase/purchase.ts')).purchase,
  webhooks: async () => (await import('./webhooks.ts')).webhooksBench,
  check: async () => (await import('./check.ts')).check,
  costs: async () => (await import('./growth/costs.ts')).costs,
  growth: async () => (await import('./growth/growth.ts')).growth,
  metrics: async () => (await import('./metrics/metrics.ts')).metrics,
  beacons: async () => (await import('./beacons/beacons.ts')).beacons,
  engines: async () => (await import('./engines/engines.ts')).engines,
  lists: async () => (await import('./lists/lists.ts')).lists,
  mails: async () => (await import('./mails.ts')).mails,
  paint: async () => (await import('./paint/paint.ts')).paint,
}

const [name = '', ...words] = process.argv.slice(2)
const load = benches[name]
if (load) await (await load())(words)
else {
  console.error(`usage: npm run bench -- ${Object.keys(benches).join(' | ')} [options…]`)
  process.exitCode = 2
}
