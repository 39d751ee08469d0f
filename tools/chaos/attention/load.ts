import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { Pool } from 'pg'
import { readConfig } from '../../../packages/server/src/platform/ops/config.ts'
import { openClickHouse } from '../../../packages/server/src/platform/db/clickhouse.ts'
import { makeLogger } from '../../../packages/server/src/platform/ops/log.ts'
import { applySchema } from '../../../packages/server/src/roles/attention.ts'
import { makeViewToken } from '../../../packages/server/src/sessions/index.ts'
import { buildContext } from '../../../packages/server/src/wiring/index.ts'
import { freePort, makeClusterFolder } from '../../../packages/server/dev/cluster.ts'
import { startClickHouse, type ClickHouseProcess } from '../../clickhouse/start.ts'
import { waitUntilReady, openPostgres, prepareServer, startRole } from '../../driver/service.ts'

type ClickHouseOptions = { readonly answerDelayMs: number; readonly ignoreTokens: boolean }

/** A ClickHouse that is started again on the same folder and port whenever it is killed. */
const openKillableClickHouse = async (folder: string, options: ClickHouseOptions) => {
  const port = await freePort()
  const start = () => startClickHouse(folder, { port, ...options })
  let server: ClickHouseProcess = await start()
  return {
    url: `${server.url}/pohf`,
    kill: async () => {
      await server.kill()
      server = await start()
    },
    stop: () => server.stop(),
  }
}

/** Processes of a whole deployment, each of which can be killed, and views of one agent. */
export const openDeployment = async (engine: 'postgresql' | 'clickhouse', options: ClickHouseOptions) => {
  const folder = mkdtempSync(join(tmpdir(), 'pohf-attention-'))
  const clusterFolder = makeClusterFolder('pohf-attention-database-')
  const postgres = await openPostgres({ folder: clusterFolder, settings: {} })
  const clickhouse =
    engine === 'clickhouse' ? await openKillableClickHouse(join(folder, 'clickhouse'), options) : undefined
  if (clickhouse) await applySchema(clickhouse.url, undefined)
  const settings = {
    BEACONS_PER_MINUTE: '10000000',
    ...(clickhouse ? { CLICKHOUSE_URL: clickhouse.url } : {}),
  }
  const { baseUrl, databaseUrl, env } = await prepareServer(postgres, folder, settings)
  const [signer, api, worker] = (['signer', 'api', 'worker'] as const).map((role) => startRole(role, env))
  if (!signer || !api || !worker) throw new Error('a process is missing')
  await waitUntilReady(baseUrl)
  const owner = new Pool({ connectionString: databaseUrl, max: 2 })
  owner.on('error', () => undefined)
  const ctx = buildContext({ config: readConfig(env), log: makeLogger('silent'), name: 'pohf-battery' })
  return {
    baseUrl,
    owner,
    ctx,
    clickhouse: clickhouse && openClickHouse(clickhouse.url),
    kills: {
      api: async () => void api.kill(),
      worker: async () => void worker.kill(),
      postgres: () => postgres.restart('SIGKILL'),
      ...(clickhouse ? { clickhouse: clickhouse.kill } : {}),
    },
    close: async () => {
      await Promise.all([api.stop(), worker.stop(), signer.stop()])
      await ctx.db.end()
      await owner.end()
      await clickhouse?.stop()
      await postgres.stop()
      for (const used of [folder, clusterFolder]) rmSync(used, { recursive: true, force: true })
    },
  }
}
export type Deployment = Awaited<ReturnType<typeof openDeployment>>

/** Verified views of one agent, and their tokens. */
export const addViews = async (
  { owner, ctx }: Deployment,
  agentId: string,
  count: number,
): Promise<string[]> => {
  const viewedAt = new Date(Date.now() - 60_000)
  const ids = Array.from({ length: count }, (_, n) => `ses_battery_${n}`)
  await owner.query(
    "insert into session_claims (agent_id, mode, session_id, at) select $1, 'live', id, $3 from unnest($2::text[]) id",
    [agentId, ids, viewedAt],
  )
  await owner.query(
    `insert into sessions (agent_id, mode, session_id, at, kind, status, quality, verified, flags)
     select $1, 'live', id, $3, 'view', 'scored', 0.9, true, '{}' from unnest($2::text[]) id`,
    [agentId, ids, viewedAt],
  )
  return ids.map((sessionId) => makeViewToken(ctx, { agentId, mode: 'live', sessionId, viewedAt }))
}

/** Sends a beacon until it is answered: the same event id counts once, however often it arrives. */
export const sendUntilAnswered = async (
  baseUrl: string,
  body: object,
  signal: AbortSignal,
): Promise<boolean> => {
  while (!signal.aborted) {
    const answer = await fetch(`${baseUrl}/api/track/event`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(5_000),
    }).catch(() => undefined)
    if (answer?.status === 200) return true
    // Each attempt counts for the limit of the view.
    await setTimeout(200)
  }
  return false
}
