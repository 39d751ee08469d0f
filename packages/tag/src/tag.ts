import { asksForPrivacy, start } from './session.ts'

globalThis.pohf = { ...globalThis.pohf, start, asksForPrivacy }
