import * as approvals from '../approvals/index.ts'
import * as credentials from '../credentials/index.ts'
import * as evidence from '../evidence/index.ts'
import type * as members from '../members/index.ts'
import * as microtasks from '../microtasks/index.ts'
import * as partners from '../partners/index.ts'
import type { Ctx } from '../platform/ops/context.ts'
import * as work from '../work/index.ts'
import { unitDepsOf } from './settlement.ts'

/** What erasure of a person covers in other modules. The api and the worker each build one. */
export const erasureOf = (ctx: Ctx): members.Erasure => ({
  tombstoneDays: ctx.config.PROOF_TOMBSTONE_DAYS,
  erasers: [
    evidence.eraseEvidence,
    credentials.eraseCredentialLinks,
    microtasks.eraseCompletions,
    (tx, member) => approvals.eraseApprover(tx, ctx, member),
  ],
  completedWork: work.makeCompletedWork({
    ctx,
    platformAgentOf: unitDepsOf(ctx).platformAgentOf,
    listPayoutAccounts: partners.listAccounts,
    erasePayoutAccounts: partners.eraseAccounts,
  }),
  platformAgentOf: unitDepsOf(ctx).platformAgentOf,
})
