export { jobs } from './jobs.ts'
export { makeRoots, type RootRequest, type Roots, type SessionRef } from './roots.ts'
export { operatorRoutes } from './routes.ts'
export { secondsUntilOpen, type RootCharge, type StrongRoot, type StrongRootKind } from './rules.ts'
