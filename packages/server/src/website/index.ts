export { readBranding } from './branding.ts'
export { makeWebsite } from './pages.ts'
export type { PartStates } from './rules.ts'
