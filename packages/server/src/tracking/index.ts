export { retentionJob } from './retention.ts'
export { routes } from './routes.ts'
