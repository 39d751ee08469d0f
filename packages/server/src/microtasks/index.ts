export { tokenCleanupJob } from './jobs.ts'
export { routes } from './routes.ts'
export { forgetCompletions } from './store.ts'
