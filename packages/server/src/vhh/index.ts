export { ensureEpochs, epochJob } from './epochs.ts'
export { routes } from './routes.ts'
