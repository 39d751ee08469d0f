import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { Pool } from 'pg'
import { freePort } from '../../../packages/server/dev/cluster.ts'
import { openClickHouse } from '../../../packages/server/src/platform/db/clickhouse.ts'
import { readConfig } from '../../../packages/server/src/platform/ops/config.ts'
import { makeLogger } from '../../../packages/server/src/platform/ops/log.ts'
import { applySchema } from '../../../packages/server/src/roles/attention.ts'
import { makeViewToken } from '../../../packages/server/src/sessions/index.ts'
import { buildContext } from '../../../packages/server/src/wiring/index.ts'
import { startClickHouse, type ClickHouseProcess } from '../../clickhouse/start.ts'
import { makeFolder, open } from '../../driver/closing.ts'
import { openService } from '../../driver/service.ts'

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
export const openDeployment = (engine: 'postgresql' | 'clickhouse', options: ClickHouseOptions) =>
  open(async (defer) => {
    const folder = makeFolder('attention', defer)
    const clickhouse =
      engine === 'clickhouse' ? await openKillableClickHouse(join(folder, 'clickhouse'), options) : undefined
    if (clickhouse) {
      defer(clickhouse.stop)
      await applySchema(clickhouse.url, undefined)
    }
    const { postgres, baseUrl, databaseUrl, env, processes, close } = await openService({
      name: 'attention',
      roles: ['signer', 'api', 'worker'],
      settings: {
        BEACONS_PER_MINUTE: '10000000',
        ...(clickhouse ? { CLICKHOUSE_URL: clickhouse.url } : {}),
      },
    })
    defer(close)
    const owner = new Pool({ connectionString: databaseUrl, max: 2 })
    owner.on('error', () => undefined)
    defer(() => owner.end())
    const ctx = buildContext({ config: readConfig(env), log: makeLogger('silent'), name: 'pohf-battery' })
    defer(() => ctx.db.end())
    return {
      baseUrl,
      owner,
      ctx,
      clickhouse: clickhouse && openClickHouse(clickhouse.url),
      kills: {
        api: async () => void processes.api.kill(),
        worker: async () => void processes.worker.kill(),
        postgres: () => postgres.restart('SIGKILL'),
        ...(clickhouse ? { clickhouse: clickhouse.kill } : {}),
      },
    }
  })
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
