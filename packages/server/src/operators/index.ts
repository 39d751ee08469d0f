export { authenticate } from './authenticate.ts'
export { create } from './create.ts'
export { operatorRoutes } from './routes.ts'
export { insertAudit as audit } from './store.ts'
