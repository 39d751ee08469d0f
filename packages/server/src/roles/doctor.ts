/** What `pohf doctor` needs of the server, and nothing more. */
export { ConfigFaults, readConfig, type Config } from './platform/config.ts'
export { checkDurability } from './platform/db.ts'
export { readMigrations } from './platform/migrate.ts'
