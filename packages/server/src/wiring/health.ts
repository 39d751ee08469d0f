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
        } catch (error) {
          ctx.log.warn({ check: name, err: error }, 'readiness check failed')
          return { status: 503, mediaType: 'text/plain', text: `not ready: the ${name} check failed\n` }
        }
      }
      return { mediaType: 'text/plain', text: 'ready\n' }
    },
  },
]
