export { operatorRoutes, routes } from './routes.ts'
