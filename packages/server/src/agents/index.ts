export { makeAuthenticator, type Authenticator } from './authenticate.ts'
export { pages } from './pages.ts'
export { operatorRoutes, routes } from './routes.ts'
export { findMode } from './store.ts'
