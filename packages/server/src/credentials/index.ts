export { operatorRoutes, routes } from './routes.ts'
export { statusDuty } from './status-build.ts'
export { makeStatusIndexes } from './status-indexes.ts'
export { listStoredCredentials } from './store.ts'
