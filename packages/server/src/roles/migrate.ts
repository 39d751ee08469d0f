import { Pool } from 'pg'
import { checkRoles } from '../platform/db/database-roles.ts'
import { checkDurability } from '../platform/db/db.ts'
import { migrate } from '../platform/db/migrate.ts'
import type { Config } from '../platform/ops/config.ts'
import { makeLogger } from '../platform/ops/log.ts'

/** Refuses an unsafe database and brings its schema up to date. */
export const prepareDatabase = async (config: Config): Promise<void> => {
  const log = makeLogger(config.LOG_LEVEL)
  const pool = new Pool({
    connectionString: config.DATABASE_URL,
    max: 1,
    connectionTimeoutMillis: 10_000,
    query_timeout: 10_000,
  })
  try {
    for (const warning of await checkDurability(pool))
      log.warn({ warning }, 'PostgreSQL setting is not recommended')
    const faults = await checkRoles(pool)
    if (faults.length > 0)
      throw new Error(
        `The database roles are not complete: ${faults.join('; ')}. See docs/operate/install.md.`,
      )
  } finally {
    await pool.end()
  }
  const applied = await migrate(config.DATABASE_URL)
  if (applied.length > 0) log.info({ applied }, 'database migrations applied')
  if (config.SMTP_URL === undefined)
    log.warn({ setting: 'SMTP_URL' }, 'no mail server is configured: mails wait in the outbox')
}
