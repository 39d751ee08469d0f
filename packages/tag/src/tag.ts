import type { PageGlobal } from './page-global.ts'
import { asksForPrivacy, start } from './session.ts'

Object.assign(globalThis, { pohf: { ...(globalThis as PageGlobal).pohf, start, asksForPrivacy } })
