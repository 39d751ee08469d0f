export { consolePages, isConsoleBuilt } from './console.ts'
export { pages } from './pages.ts'
