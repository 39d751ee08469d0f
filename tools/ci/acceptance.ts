// Starts the service as `npm start` does, where it can be with a local chain so that something is really bought, and holds
// it against the specification: the conformance suite, then the whole journey by curl.
import { spawnSync } from 'node:child_process'
import { startServer } from '../../packages/server/test/fixtures/processes/server.ts'
import { findShop } from '../../packages/server/test/fixtures/processes/purchase-server.ts'

const shop = await findShop()
const server = shop ?? (await startServer())
const env = { ...process.env, ...(shop ? { PAYER_PRIVATE_KEY: shop.chain.buyer.privateKey } : {}) }
try {
  const steps: readonly (readonly [string, readonly string[]])[] = [
    ['node', ['conformance/src/main.ts', '--base-url', server.baseUrl, '--json']],
    ['bash', ['docs/journey/journey.sh', server.baseUrl]],
  ]
  for (const [command, parameters] of steps) {
    const run = spawnSync(command, parameters, { encoding: 'utf8', timeout: 300_000, env })
    const lines = `${run.stdout}${run.stderr}`.trimEnd().split('\n')
    const failed = run.status !== 0
    // A run that went well says it in its last lines; one that did not shows everything.
    console.log((failed ? lines : lines.slice(-3)).join('\n'))
    if (failed) {
      console.error(`${command} ${parameters[0]} failed`)
      process.exitCode = 1
      break
    }
  }
} finally {
  await server.stop()
}
