/** What `pohf doctor` needs of the server, and nothing more. */
export { ConfigFaults, readConfig, type Config } from '../platform/ops/config.ts'
export { checkDurability } from '../platform/db/db.ts'
export { readMigrations } from '../platform/db/migrate.ts'
