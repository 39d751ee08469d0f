// Proves "any standard JWT library": Debian's accept our credentials by our JWKS, and refuse forgeries.
// npm run interop [-- --json]
import { startServer } from '../../packages/server/test/fixtures/processes/server.ts'
import { checkLibraries } from './check-libraries.ts'

const server = await startServer()
try {
  const results = await checkLibraries(server.baseUrl)
  if (process.argv.includes('--json')) console.log(JSON.stringify(results))
  if (results.failed > 0 || results.libraries === 0) process.exitCode = 1
} finally {
  await server.stop()
}
