import * as agents from '../agents/index.ts'
import * as credentials from '../credentials/index.ts'
import * as credits from '../credits/index.ts'
import * as evidence from '../evidence/index.ts'
import * as members from '../members/index.ts'
import * as microtasks from '../microtasks/index.ts'
import * as operators from '../operators/index.ts'
import * as partners from '../partners/index.ts'
import * as payments from '../payments/index.ts'
import type { Browser } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { makeProgress } from '../platform/queue/progress.ts'
import { makeRoots } from '../roots/index.ts'
import * as signing from '../signing/index.ts'
import * as work from '../work/index.ts'
import { findPayoutRootOf, makePurchaseSettlement, unitDepsOf } from './settlement.ts'

/** Who a request comes from, for each kind of caller in the table. */
const makeAuthenticate = (ctx: Ctx, authenticator: ReturnType<typeof agents.makeAuthenticator>) => ({
  agent: authenticator.authenticate,
  operator: (key: string) => operators.authenticate(ctx, key),
  member: (browser: Browser) => members.authenticate(ctx, browser),
})

/** What erasure of a person covers in other modules. The api and the worker each build one. */
export const erasureOf = (ctx: Ctx): members.Erasure => ({
  erasers: [evidence.eraseEvidence, credentials.eraseCredentialLinks, microtasks.eraseCompletions],
  completedWork: work.makeCompletedWork({
    ctx,
    platformAgentOf: unitDepsOf(ctx).platformAgentOf,
    listPayoutAccounts: partners.listAccounts,
    erasePayoutAccounts: partners.eraseAccounts,
  }),
  platformAgentOf: unitDepsOf(ctx).platformAgentOf,
})

/** What both listeners of the api process share. */
export const buildServices = (ctx: Ctx, issuers: readonly members.ExternalIssuer[]) => {
  const authenticator = agents.makeAuthenticator(ctx)
  const signer = signing.connectSigner(ctx.config.SIGNER_SOCKET, ctx.clock)
  const cardProvider = payments.makeCardProvider(ctx)
  const statusIndexes = credentials.makeStatusIndexes(ctx, signer)
  const chainSettlement = payments.makeSettlement(ctx)
  const unitDeps = unitDepsOf(ctx)
  const roots = makeRoots(ctx)
  return {
    ctx,
    issuers,
    authenticator,
    authenticate: makeAuthenticate(ctx, authenticator),
    signer,
    statusIndexes,
    roots,
    findPayoutRoot: findPayoutRootOf(ctx),
    forging: credentials.readForgingFile(ctx.config.FORGING_FILE),
    verifyProgress: makeProgress(),
    cardProvider,
    payments: payments.makePayments(ctx, cardProvider),
    credits: credits.makeCredits(ctx, {
      isEmailConfirmed: agents.isEmailConfirmed,
      findRegistrationOrigin: agents.findRegistrationOrigin,
    }),
    chainSettlement,
    purchaseSettlement: makePurchaseSettlement(ctx, {
      settlement: chainSettlement,
      mint: credentials.makePurchaseMint({ ctx, signer, statusIndexes, roots }),
    }),
    deviceTrust: evidence.loadDeviceTrust(ctx.config, ctx.clock.now()),
    findRecordingOwner: work.makeFindRecordingOwner(unitDeps),
    erasure: erasureOf(ctx),
  }
}
export type Services = ReturnType<typeof buildServices>
