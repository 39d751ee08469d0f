export type { Settlement } from './manifest.ts'
export { consolePages, isConsoleBuilt } from './console.ts'
export { pages } from './pages.ts'
export { routes } from './routes.ts'
