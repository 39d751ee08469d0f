import { modes, type Mode } from '@pohf/protocol'
import type { Config } from '../platform/ops/config.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction } from '../platform/db/db.ts'
import type { AgentId } from '../platform/ops/ids.ts'
import { insertAgentIfAbsent } from './store.ts'

/** The time part of these ids is zero, so no generated id can equal one of them. */
const idSuffixes: Readonly<Record<Mode, string>> = {
  live: '00000000000000000000000001',
  test: '00000000000000000000000002',
}

/**
 * The platform agent represents the operator in one mode: it owns what no agent with a key owns, such as work that the
 * operator prepays and purchases without a key. It has no key and no confirmed mail address, so nobody can call as it or
 * recover a key for it.
 */
export const platformAgentId = (config: Pick<Config, 'CELL'>, mode: Mode): AgentId =>
  `agt_${config.CELL}${idSuffixes[mode]}`

/** Inserts both rows if they are missing. Every start calls it; concurrent starts are safe. */
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
        wideNetworkTag: null,
      })
  })
}
