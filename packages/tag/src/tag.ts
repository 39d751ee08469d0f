import { asksForPrivacy, start } from './session.ts'

/** The global `pohf` of a page once the script has run. */
const pohf = { start, asksForPrivacy }
Object.assign(globalThis, { pohf })
