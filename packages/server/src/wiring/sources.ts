import * as accounts from '../accounts/index.ts'
import * as agents from '../agents/index.ts'
import type { Ctx } from '../platform/ops/context.ts'
import * as purchases from '../purchases/index.ts'
import type { Signer } from '../signing/index.ts'
import type { IndexDeps } from '../vhh/index.ts'
import * as webhooks from '../webhooks/index.ts'
import * as work from '../work/index.ts'

/** What the index reads, from the modules that own it. */
export const indexDepsOf = (ctx: Ctx, signer: Signer): IndexDeps => ({
  ctx,
  signer,
  listSubscribers: webhooks.listSubscribers,
  sources: {
    listSettledUnits: work.listSettledUnits,
    listSettledPurchases: purchases.listSettledPurchases,
    listSoldWork: work.listSoldWork,
    listOrigins: agents.listOrigins,
    listAccounts: accounts.listAccountsOfAgents,
    platformAgentId: agents.platformAgentId(ctx.config, 'live'),
  },
})
