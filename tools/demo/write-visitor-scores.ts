// Plays the visitors of the demo at a service of its own, and writes their scores into visitor-scores.json: after a change of the
// scorer or of the visitors. npx node tools/demo/write-visitor-scores.ts
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createDatabase, makeClusterFolder, startCluster } from '../../packages/server/dev/cluster.ts'
import { migrate } from '../../packages/server/src/platform/db/migrate.ts'
import { openServer } from '../../packages/server/test/fixtures/harness.ts'
import { playVisitors } from './visitors.ts'

const file = fileURLToPath(new URL('visitor-scores.json', import.meta.url))
const [folder, dataDir] = [makeClusterFolder('pohf-visitors-'), mkdtempSync(join(tmpdir(), 'pohf-visitors-'))]
const cluster = await startCluster({ folder })
try {
  const url = await createDatabase(cluster, 'pohf')
  await migrate(url)
  const server = await openServer({ url, environment: { DATA_DIR: dataDir } })
  const { agentId } = await server.register('live')
  const scores = await playVisitors(server, agentId)
  await server.close()
  writeFileSync(file, JSON.stringify(scores, null, 2))
  const { status } = spawnSync('npx', ['prettier', '--write', file], { stdio: 'inherit' })
  if (status !== 0) throw new Error(`prettier ended with ${status}`)
} finally {
  await cluster.stop()
  for (const path of [folder, dataDir]) rmSync(path, { recursive: true, force: true })
}
