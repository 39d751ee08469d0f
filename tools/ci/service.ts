// Starts the service once as `npm start` does, on a local chain where there is one, and holds it against what others demand of it:
// the conformance suite, the journey by curl, a JWT library, a stock x402 client, random requests.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startServer } from '../../packages/server/test/fixtures/processes/server.ts'
import { tryStartPurchaseServer } from '../../packages/server/test/fixtures/processes/purchase-server.ts'
import { checkClients, x402Clients } from '../interop/check-clients.ts'
import { checkLibraries } from '../interop/check-libraries.ts'
import { libraries } from '../interop/libraries.ts'

/** docs/limits.md states how many statements hold and how many are skipped. */
const checkStatedResults = (results: string): void => {
  const count = (state: string) => results.split('\n').filter((line) => line.endsWith(`\t${state}`)).length
  const sentence = `${count('passed')} statements hold, and ${count('skipped')} are skipped`
  if (readFileSync('docs/limits.md', 'utf8').includes(sentence)) return
  console.error(`docs/limits.md does not say that ${sentence}.`)
  process.exitCode = 1
}

// The key of the random requests makes more of them in a minute than a key may.
const environment = { KEY_LIMIT_PER_MINUTE: '1000000' }
const purchaseServer = await tryStartPurchaseServer({ environment })
const server = purchaseServer ?? (await startServer(environment))
const env = {
  ...process.env,
  ...(purchaseServer ? { PAYER_PRIVATE_KEY: purchaseServer.chain.buyer.privateKey } : {}),
}
const folder = mkdtempSync(join(tmpdir(), 'pohf-service-'))
const results = join(folder, 'results')

const runCommand = (program: string, ...parameters: readonly string[]): void => {
  const run = spawnSync(program, parameters, { encoding: 'utf8', timeout: 300_000, env })
  const lines = `${run.stdout}${run.stderr}`.trimEnd().split('\n')
  const failed = run.status !== 0
  // A run that went well says it in its last lines; one that did not shows everything.
  console.log((failed ? lines : lines.slice(-3)).join('\n'))
  if (!failed) return
  console.error(`${program} ${parameters[0]} failed`)
  process.exitCode = 1
}

try {
  runCommand('node', 'conformance/src/main.ts', '--base-url', server.baseUrl, '--results', results, '--json')
  // Without a chain more statements are skipped.
  if (purchaseServer && process.exitCode === undefined) checkStatedResults(readFileSync(results, 'utf8'))
  runCommand('bash', 'docs/quickstart/journey.sh', server.baseUrl)
  const judged = await checkLibraries(
    server.baseUrl,
    libraries.filter(({ name }) => name === 'python3-jwt'),
  )
  if (judged.failed > 0 || judged.libraries === 0) process.exitCode = 1
  if (purchaseServer) {
    const bought = await checkClients(
      purchaseServer,
      x402Clients.filter(({ name }) => name === '@x402/fetch'),
    )
    if (bought.failed > 0) process.exitCode = 1
  }
  runCommand('node', 'tools/fuzz/main.ts', '--base-url', server.baseUrl, '--requests', '1000')
} finally {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}
