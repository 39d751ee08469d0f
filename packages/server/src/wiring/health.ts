import { inTransaction, readNow } from '../platform/db/db.ts'
import type { Page } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import type { Signer } from '../signing/index.ts'

/** Names the first check that fails. It is logged when it begins to fail: anybody can call the page as often as they like. */
const makeReadiness = (ctx: Ctx, signer: Signer): (() => Promise<string | undefined>) => {
  const checks = { database: () => inTransaction(ctx, 'system', readNow), signer: signer.selfTest }
  let failing: string | undefined
  return async () => {
    for (const [name, check] of Object.entries(checks)) {
      try {
        await check()
      } catch (error) {
        if (failing !== name) ctx.log.warn({ check: name, err: error }, 'readiness check failed')
        failing = name
        return name
      }
    }
    failing = undefined
    return undefined
  }
}

/** `/livez` needs nothing; `/readyz` needs the database and the signer, and answers 503 while the process is stopping. */
export const healthPages = (ctx: Ctx, signer: Signer, isStopping: () => boolean): Page[] => {
  const findFailing = makeReadiness(ctx, signer)
  return [
    { path: '/livez', handler: async () => ({ mediaType: 'text/plain', text: 'alive\n' }) },
    {
      path: '/readyz',
      handler: async () => {
        if (isStopping()) return { status: 503, mediaType: 'text/plain', text: 'stopping\n' }
        const failing = await findFailing()
        return failing === undefined
          ? { mediaType: 'text/plain', text: 'ready\n' }
          : { status: 503, mediaType: 'text/plain', text: `not ready: the ${failing} check failed\n` }
      },
    },
  ]
}
