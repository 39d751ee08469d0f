export { ensureEpochs, epochDuty } from './epochs.ts'
export { routes } from './routes.ts'
