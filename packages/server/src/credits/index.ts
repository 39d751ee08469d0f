export { makeCredits, type Credits } from './credits.ts'
export { pages } from './pages.ts'
export { routes } from './routes.ts'
