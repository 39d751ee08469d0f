// Other people's clients, unmodified, buy from a server of ours on a chain of its own.
// npm run battery -- x402 [--json]
import { startPurchaseServer } from '../../packages/server/test/fixtures/processes/purchase-server.ts'
import { checkClients } from './check-clients.ts'

const server = await startPurchaseServer()
try {
  const results = await checkClients(server)
  if (process.argv.includes('--json')) console.log(JSON.stringify(results))
  if (results.failed > 0) process.exitCode = 1
} finally {
  await server.stop()
}
