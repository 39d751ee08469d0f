export type { Settlement } from './manifest.ts'
export { pages } from './pages.ts'
export { routes } from './routes.ts'
