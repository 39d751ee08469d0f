import { modes, type Mode } from '@pohf/protocol'
import type { Config } from '../platform/ops/config.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction } from '../platform/db/db.ts'
import { insertAgentIfAbsent } from './store.ts'

/** The time of these ids is zero, so no id that is ever made is one of them. */
const idSuffixes: Readonly<Record<Mode, string>> = {
  live: '00000000000000000000000001',
  test: '00000000000000000000000002',
}

/**
 * The agent that stands for the operator in one mode: it owns what nobody with a key owns, such as work that the
 * operator pays in advance and purchases without a key. It has no key and no confirmed mail address, so nobody can
 * call as it or recover a key for it.
 */
export const platformAgentId = (config: Pick<Config, 'CELL'>, mode: Mode): `agt_${string}` =>
  `agt_${config.CELL}${idSuffixes[mode]}`

/** Makes both rows. Every start does the same, also two at the same time. */
export const ensurePlatformAgents = async (ctx: Ctx): Promise<void> => {
  await inTransaction(ctx, 'system', async (tx) => {
    for (const mode of modes)
      await insertAgentIfAbsent(tx, {
        agentId: platformAgentId(ctx.config, mode),
        mode,
        name: 'House',
        contactEmail: 'house@localhost',
        mailDomain: 'localhost',
        networkTag: 'house',
      })
  })
}
