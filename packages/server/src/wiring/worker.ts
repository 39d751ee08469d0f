import * as accounts from '../accounts/index.ts'
import * as agents from '../agents/index.ts'
import * as approvals from '../approvals/index.ts'
import * as credentials from '../credentials/index.ts'
import * as credits from '../credits/index.ts'
import * as evidence from '../evidence/index.ts'
import * as issuers from '../issuers/index.ts'
import * as ledger from '../ledger/index.ts'
import * as members from '../members/index.ts'
import * as microtasks from '../microtasks/index.ts'
import * as operators from '../operators/index.ts'
import * as partners from '../partners/index.ts'
import * as payments from '../payments/index.ts'
import { clockJob } from '../platform/db/clock.ts'
import { maintenanceJob, mergeSlotsJob } from '../platform/db/maintenance.ts'
import { makeReadTexts } from '../platform/net/dns-texts.ts'
import { mailJobs } from '../platform/net/mail.ts'
import { send } from '../platform/net/outbound.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { drainOutbox } from '../platform/queue/outbox.ts'
import type { Job } from '../platform/queue/worker.ts'
import * as purchases from '../purchases/index.ts'
import { dropOldRequests } from '../requests/index.ts'
import { jobs as rootJobs, makeRoots } from '../roots/index.ts'
import * as sessions from '../sessions/index.ts'
import * as signing from '../signing/index.ts'
import * as tracking from '../tracking/index.ts'
import * as trust from '../trust/index.ts'
import * as vhh from '../vhh/index.ts'
import * as webhooks from '../webhooks/index.ts'
import * as work from '../work/index.ts'
import { erasureOf } from './erasure.ts'
import { makeMinting } from './minting.ts'
import { indexDepsOf } from './sources.ts'
import { comparisons, unitDepsOf, makePurchaseSettlement, settlersOf } from './settlement.ts'

/** A job changes what the database has, so it waits while the database is from the past. */
const unlessRestoring = (guard: signing.RestoreGuard, job: Job): Job => ({
  ...job,
  isPaused: guard.isPending,
})

/** What is deleted when it has expired. */
const deletions = [
  accounts.deleteExpired,
  agents.deleteOldMailTokens,
  approvals.eraseOldEnvelopes,
  issuers.deleteOldRequests,
  members.deleteExpiredTokens,
  members.deleteOldProofs,
  operators.deleteExpired,
  credentials.deleteExpiredWallets,
  evidence.deleteOldNonces,
  evidence.deleteOldAttestations,
  evidence.deleteUnusedStepUpKeys,
  partners.deleteOldAccounts,
  dropOldRequests,
  signing.deleteOldBatches,
  signing.deleteOldRotations,
  tracking.deleteOldBeaconFigures,
  tracking.deleteOldBatches,
  trust.deleteExpired,
]

/** Every background job of the worker, with its schedule. The worker repeats them itself, without cron. */
export const buildJobs = (ctx: Ctx, signer: signing.Signer = signing.connectSigner(ctx)): Job[] => {
  const erasure = erasureOf(ctx)
  const minting = makeMinting(ctx, signer)
  const { statusIndexes, mintSigner } = minting
  const roots = makeRoots(ctx)
  const purchaseSettlement = makePurchaseSettlement(ctx, {
    settlement: payments.makeSettlement(ctx),
    mint: credentials.makePurchaseMint({ ctx, signer, mintSigner, statusIndexes, roots }),
  })
  const jobs = [
    clockJob(ctx),
    {
      name: 'events',
      everyMs: 500,
      run: () => drainOutbox(ctx, 'event', { withinTransaction: webhooks.fanOut }),
    },
    {
      name: 'erasures',
      everyMs: 10_000,
      run: () =>
        drainOutbox(ctx, 'erasure', {
          withinTransaction: (tx, rows) => members.eraseAgain(tx, erasure, rows),
        }),
    },
    webhooks.deliveryJob(ctx, agents.findConfirmedContactEmail),
    webhooks.endpointMonitorJob(ctx, agents.findConfirmedContactEmail),
    webhooks.recoveryJob(ctx),
    ...mailJobs(ctx),
    ...work.jobs(ctx, unitDepsOf(ctx)),
    ...microtasks.jobs(ctx),
    ...approvals.jobs(ctx),
    ...(purchaseSettlement ? purchases.purchaseJobs(purchaseSettlement) : []),
    ...sessions.jobs(ctx),
    credits.disputeJob({ ctx, changeCredentialState: credentials.makeChangeCredentialState(ctx) }),
    ...payments.jobs(ctx, { provider: payments.makeCardProvider(ctx), settlers: settlersOf(ctx) }),
    ...evidence.makeScoring(ctx, work.findWorkHistory).jobs,
    ...rootJobs(ctx),
    issuers.recheckJob({ ctx, readTexts: makeReadTexts(ctx.config.DNS_RESOLVERS), send }),
    vhh.epochJob(indexDepsOf(ctx, signer)),
    credentials.statusListJob(ctx, signer),
    credentials.elsewhereJob(ctx, signer),
    signing.rotationJob({ ctx, signer, listSubscribers: webhooks.listSubscribers }),
    ledger.reconcileJob(ctx, comparisons),
    tracking.retentionJob(ctx),
    ...tracking.deliveryJobs(ctx),
    webhooks.retentionJob(ctx),
    mergeSlotsJob(ctx),
    maintenanceJob(ctx, deletions),
  ]
  return jobs.map((job) => unlessRestoring(minting.restoreGuard, job))
}
