export { readBranding } from './branding.ts'
export { makeWebsite } from './pages.ts'
export type { PartState, PartStates } from './status.ts'
