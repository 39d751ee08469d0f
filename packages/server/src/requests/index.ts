export { dropOldRequests } from './store.ts'
export { makeRequestLog } from './log.ts'
export { routes } from './routes.ts'
