export { jobs } from './jobs.ts'
export { makeRoots, type Roots, type SessionRef } from './roots.ts'
export { operatorRoutes } from './routes.ts'
export { secondsUntilOpen, type RootCharge, type StrongRoot } from './rules.ts'
