export { retentionJob } from './retention.ts'
export { routes } from './routes.ts'
export { deleteOldBeaconHours } from './store.ts'
