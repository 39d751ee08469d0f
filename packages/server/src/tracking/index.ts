export { retentionDuty } from './retention.ts'
export { routes } from './routes.ts'
