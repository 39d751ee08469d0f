// Starts the service as `npm start` does, where it can be with a local chain so that something is really bought, and holds
// it against the specification: the conformance suite, then the whole journey by curl.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startServer } from '../../packages/server/test/fixtures/processes/server.ts'
import { tryStartPurchaseServer } from '../../packages/server/test/fixtures/processes/purchase-server.ts'

/** docs/limits.md states how many statements hold and how many are skipped. */
const checkStatedResults = (results: string): void => {
  const count = (state: string) => results.split('\n').filter((line) => line.endsWith(`\t${state}`)).length
  const sentence = `${count('passed')} statements hold, and ${count('skipped')} are skipped`
  if (readFileSync('docs/limits.md', 'utf8').includes(sentence)) return
  console.error(`docs/limits.md does not say that ${sentence}.`)
  process.exitCode = 1
}

const purchaseServer = await tryStartPurchaseServer()
const server = purchaseServer ?? (await startServer())
const env = {
  ...process.env,
  ...(purchaseServer ? { PAYER_PRIVATE_KEY: purchaseServer.chain.buyer.privateKey } : {}),
}
const folder = mkdtempSync(join(tmpdir(), 'pohf-acceptance-'))
const results = join(folder, 'results')
try {
  const steps: readonly (readonly [string, readonly string[]])[] = [
    ['node', ['conformance/src/main.ts', '--base-url', server.baseUrl, '--results', results, '--json']],
    ['bash', ['docs/quickstart/journey.sh', server.baseUrl]],
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
  // Without a chain more statements are skipped.
  if (purchaseServer && process.exitCode === undefined) checkStatedResults(readFileSync(results, 'utf8'))
} finally {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}
