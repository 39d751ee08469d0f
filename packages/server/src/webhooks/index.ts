export { deliveryDuty } from './deliver.ts'
export { fanOut } from './fan-out.ts'
export { retentionDuty } from './retain.ts'
export { routes } from './routes.ts'
