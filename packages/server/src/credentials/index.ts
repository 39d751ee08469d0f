export type { Allowance, Deps } from './mint.ts'
export { routes } from './routes.ts'
