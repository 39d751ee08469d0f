/** The parts of the server that `pohf doctor` uses. */
export { ConfigFaults, readConfig, type Config } from '../platform/ops/config.ts'
export { networkOf } from '../payments/index.ts'
export { checkDurability } from '../platform/db/db.ts'
export { checkRoles } from '../platform/db/database-roles.ts'
export { readMigrations } from '../platform/db/migrate.ts'
