export { jobs } from './jobs.ts'
export { routes } from './routes.ts'
export { eraseCompletions } from './store.ts'
