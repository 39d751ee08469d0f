export { makeKeyless } from './keyless.ts'
export { operatorRoutes } from './routes.ts'
export { deleteExpired } from './store.ts'
