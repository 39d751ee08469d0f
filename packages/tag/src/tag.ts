import { asksForPrivacy, start } from './session.ts'

/** What a page finds as `pohf` once the script has run. */
const pohf = { start, asksForPrivacy }
Object.assign(globalThis, { pohf })
