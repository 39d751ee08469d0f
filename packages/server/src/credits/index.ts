export { cardSettler } from './card.ts'
export { makeCredits, type Credits } from './credits.ts'
export { pages } from './pages.ts'
export { operatorRoutes, routes } from './routes.ts'
