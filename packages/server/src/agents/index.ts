export { makeAuthenticator, type Authenticator } from './authenticate.ts'
export { pages } from './pages.ts'
export { operatorRoutes, routes } from './routes.ts'
export { findEmailConfirmed as isEmailConfirmed, findOrigin } from './store.ts'
