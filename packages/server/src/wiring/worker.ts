import * as agents from '../agents/index.ts'
import * as credentials from '../credentials/index.ts'
import * as evidence from '../evidence/index.ts'
import * as ledger from '../ledger/index.ts'
import * as members from '../members/index.ts'
import * as microtasks from '../microtasks/index.ts'
import * as partners from '../partners/index.ts'
import * as payments from '../payments/index.ts'
import { clockJob } from '../platform/db/clock.ts'
import { maintenanceJob } from '../platform/db/maintenance.ts'
import { makeMailSender } from '../platform/net/mail.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { drainOutbox } from '../platform/queue/outbox.ts'
import type { Job } from '../platform/queue/worker.ts'
import * as purchases from '../purchases/index.ts'
import { jobs as rootJobs, makeRoots } from '../roots/index.ts'
import * as sessions from '../sessions/index.ts'
import * as signing from '../signing/index.ts'
import * as tracking from '../tracking/index.ts'
import * as vhh from '../vhh/index.ts'
import * as webhooks from '../webhooks/index.ts'
import * as work from '../work/index.ts'
import { erasureOf } from './services.ts'
import { comparisons, unitDepsOf, makePurchaseSettlement, settlersOf } from './settlement.ts'

/** Every background job of the worker. */
export const buildJobs = (ctx: Ctx): Job[] => {
  const sendMail = makeMailSender(ctx)
  const erasure = erasureOf(ctx)
  const signer = signing.connectSigner(ctx.config.SIGNER_SOCKET, ctx.clock)
  const statusIndexes = credentials.makeStatusIndexes(ctx, signer)
  const roots = makeRoots(ctx)
  const purchaseSettlement = makePurchaseSettlement(ctx, {
    settlement: payments.makeSettlement(ctx),
    mint: credentials.makePurchaseMint({ ctx, signer, statusIndexes, roots }),
  })
  return [
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
    ...(sendMail
      ? [
          {
            name: 'mails',
            everyMs: 500,
            run: () => drainOutbox(ctx, 'mail', { beforeTransaction: sendMail }),
          },
        ]
      : []),
    ...work.jobs(ctx, unitDepsOf(ctx)),
    microtasks.tokenCleanupJob(ctx),
    ...(purchaseSettlement ? purchases.purchaseJobs(purchaseSettlement) : []),
    ...sessions.jobs(ctx),
    ...payments.jobs(ctx, { provider: payments.makeCardProvider(ctx), settlers: settlersOf(ctx) }),
    ...evidence.makeScoring(ctx, roots, work.findWorkHistory).jobs,
    ...rootJobs(ctx),
    vhh.epochJob(ctx, signer),
    credentials.statusListJob(ctx, signer),
    ledger.reconcileJob(ctx, comparisons),
    tracking.retentionJob(ctx),
    webhooks.retentionJob(ctx),
    maintenanceJob(ctx, [
      agents.deleteOldMailTokens,
      members.deleteExpiredTokens,
      credentials.deleteExpiredWallets,
      evidence.deleteOldNonces,
      evidence.deleteOldAttestations,
      evidence.deleteUnusedStepUpKeys,
      partners.deleteOldAccounts,
    ]),
  ]
}
