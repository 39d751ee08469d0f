import { inTransaction, readNow } from '../platform/db/db.ts'
import type { Page } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import type { Signer } from '../signing/index.ts'

/** `/livez` needs nothing; `/readyz` needs the database and the signer, and answers 503 while the process is stopping. */
export const healthPages = (ctx: Ctx, signer: Signer, isStopping: () => boolean): Page[] => [
  { path: '/livez', handler: async () => ({ mediaType: 'text/plain', text: 'alive\n' }) },
  {
    path: '/readyz',
    handler: async () => {
      if (isStopping()) return { status: 503, mediaType: 'text/plain', text: 'stopping\n' }
      const readinessChecks = {
        database: () => inTransaction(ctx, 'system', readNow),
        signer: signer.selfTest,
      }
      for (const [name, check] of Object.entries(readinessChecks)) {
        try {
          await check()
        } catch {
          return { status: 503, mediaType: 'text/plain', text: `the ${name} does not answer\n` }
        }
      }
      return { mediaType: 'text/plain', text: 'ready\n' }
    },
  },
]
