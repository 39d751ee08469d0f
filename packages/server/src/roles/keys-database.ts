import * as credentials from '../credentials/index.ts'
import { inTransaction } from '../platform/db/db.ts'
import type { Config } from '../platform/ops/config.ts'
import { makeLogger } from '../platform/ops/log.ts'
import * as signing from '../signing/index.ts'
import { buildContext } from '../wiring/context.ts'

/** Whether the database knows of keys or status lists that this deployment published. */
export const hasPublished = async (config: Config): Promise<boolean> => {
  const ctx = buildContext({ config, log: makeLogger('silent'), name: 'pohf-keys' })
  try {
    return await inTransaction(
      ctx,
      'system',
      async (tx) => (await signing.hasManifest(tx)) || (await credentials.hasPublishedList(tx)),
    )
  } finally {
    await ctx.db.end()
  }
}
