import { join } from 'node:path'
import { createDatabase } from '../../packages/server/dev/cluster.ts'
import { migrate } from '../../packages/server/src/platform/db/migrate.ts'
import { readConfig } from '../../packages/server/src/platform/ops/config.ts'
import { makeLogger } from '../../packages/server/src/platform/ops/log.ts'
import { buildApp, buildContext } from '../../packages/server/src/wiring/index.ts'
import { makeFolder, open } from './closing.ts'
import { starting } from './program.ts'
import { openPostgres } from './service.ts'

/** An api in this process, on a PostgreSQL of its own. */
export const openApi = (name: string, settings: Readonly<Record<string, string>>) =>
  open(async (defer) => {
    starting('PostgreSQL and an api in this process')
    const folder = makeFolder(name, defer)
    const postgres = await openPostgres({ folder, settings })
    defer(postgres.stop)
    const databaseUrl = await createDatabase(postgres, 'pohf')
    await migrate(databaseUrl)
    const environment = {
      DATABASE_URL: databaseUrl,
      DATA_DIR: join(folder, 'secrets'),
      BASE_URL: 'http://127.0.0.1:3000',
      DATABASE_WAIT_SECONDS: '5',
    }
    const config = readConfig(environment)
    const ctx = buildContext({ config, log: makeLogger('silent'), name: `pohf-${name}` })
    defer(() => ctx.db.end())
    const { api } = buildApp(ctx)
    defer(() => api.close())
    return { postgres, databaseUrl, environment, config, ctx, api }
  })
