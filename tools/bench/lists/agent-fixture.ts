import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { scopes } from '@pohf/protocol'
import { createDatabase, startCluster } from '../../../packages/server/dev/cluster.ts'
import { readConfig } from '../../../packages/server/src/platform/ops/config.ts'
import { makeIds } from '../../../packages/server/src/platform/ops/ids.ts'
import { hashKey, makeKey } from '../../../packages/server/src/platform/ops/keys.ts'
import { makeLogger } from '../../../packages/server/src/platform/ops/log.ts'
import { migrate } from '../../../packages/server/src/platform/db/migrate.ts'
import { buildApp, buildContext } from '../../../packages/server/src/wiring/index.ts'

const dayMs = 86_400_000

/** An agent that is older than its rows, because a list ends where its agent began. Without a signer nobody can register. */
const insertAgent = async (owner: Client, cell: string) => {
  const agentId = makeIds(cell, { now: () => new Date(Date.now() - 90 * dayMs) }).make('agt_')
  const apiKey = makeKey('svc_live_', cell)
  await owner.query(
    `insert into agents (agent_id, mode, name, contact_email, mail_domain, network_tag, rate_per_minute)
     values ($1, 'live', 'Bench', 'bench@example.com', 'example.com', 'bench', 1000000)`,
    [agentId],
  )
  await owner.query(
    `insert into api_keys (agent_id, key_id, hint, scopes) values ($1, 'key_bench', 'none', $2)`,
    [agentId, [...scopes]],
  )
  await owner.query(`insert into api_key_hashes (key_hash, agent_id, key_id) values ($1, $2, 'key_bench')`, [
    hashKey(apiKey),
    agentId,
  ])
  return { agentId, apiKey }
}

/** An api in this process and a database of its own, with one agent. */
export const openAgentFixture = async (settings: Readonly<Record<string, string>>) => {
  const folder = mkdtempSync(join(tmpdir(), 'pohf-bench-'))
  const cluster = await startCluster({ folder, settings })
  const databaseUrl = await createDatabase(cluster, 'pohf')
  await migrate(databaseUrl)
  const config = readConfig({
    DATABASE_URL: databaseUrl,
    DATA_DIR: join(folder, 'secrets'),
    BASE_URL: 'http://127.0.0.1:3000',
  })
  const ctx = buildContext({ config, log: makeLogger('silent'), name: 'pohf-bench' })
  const { api } = buildApp(ctx)
  const owner = new Client({ connectionString: databaseUrl })
  await owner.connect()
  const { agentId, apiKey } = await insertAgent(owner, config.CELL)
  return {
    agentId,
    ctx,
    owner,
    postmaster: cluster.process.pid ?? 0,
    get: async (path: string) => {
      const answer = await api.inject({ url: path, headers: { authorization: `Bearer ${apiKey}` } })
      if (answer.statusCode !== 200)
        throw new Error(`GET ${path} answered ${answer.statusCode}: ${answer.body}`)
      return answer.json<Record<string, unknown>>()
    },
    close: async () => {
      await api.close()
      await owner.end()
      await ctx.db.end()
      await cluster.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
export type AgentFixture = Awaited<ReturnType<typeof openAgentFixture>>
