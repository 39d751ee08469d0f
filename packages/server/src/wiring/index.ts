import { endpoints, operatorEndpoints, type Mode } from '@pohf/protocol'
import type { FastifyInstance } from 'fastify'
import * as agents from '../agents/index.ts'
import * as credentials from '../credentials/index.ts'
import * as credits from '../credits/index.ts'
import * as discovery from '../discovery/index.ts'
import * as evidence from '../evidence/index.ts'
import * as members from '../members/index.ts'
import * as ledger from '../ledger/index.ts'
import * as operators from '../operators/index.ts'
import * as signing from '../signing/index.ts'
import { makeRateLimits } from '../platform/http/admission.ts'
import * as partners from '../partners/index.ts'
import * as payments from '../payments/index.ts'
import { systemClock, type Clock } from '../platform/ops/clock.ts'
import type { Browser, Page } from '../platform/http/call.ts'
import type { Config } from '../platform/ops/config.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction, openDatabase, readNow, type Tx } from '../platform/db/db.ts'
import { makeDispatcher } from '../platform/http/dispatch.ts'
import { buildListener } from '../platform/http/http.ts'
import { makeIds } from '../platform/ops/ids.ts'
import type { Logger } from '../platform/ops/log.ts'
import { makeMailSender } from '../platform/net/mail.ts'
import { maintenanceJob } from '../platform/db/maintenance.ts'
import { makeMetrics } from '../platform/ops/metrics.ts'
import { drainOutbox, measureOutbox } from '../platform/queue/outbox.ts'
import { loadSecrets } from '../platform/ops/secrets.ts'
import type { Job } from '../platform/queue/worker.ts'
import * as sessions from '../sessions/index.ts'
import * as webhooks from '../webhooks/index.ts'
import * as tracking from '../tracking/index.ts'
import * as vhh from '../vhh/index.ts'
import * as work from '../work/index.ts'
import * as microtasks from '../microtasks/index.ts'
import * as purchases from '../purchases/index.ts'

export type ContextOptions = {
  readonly config: Config
  readonly log: Logger
  readonly clock?: Clock
  readonly name: string
}

/** Builds what every operation is given. */
export const buildContext = (parts: ContextOptions): Ctx => {
  const clock = parts.clock ?? systemClock
  const ids = makeIds(parts.config.CELL, clock)
  const db = openDatabase({
    url: parts.config.DATABASE_URL,
    poolSize: parts.config.DATABASE_POOL_SIZE,
    waitSeconds: parts.config.DATABASE_WAIT_SECONDS,
    log: parts.log,
    name: parts.name,
    ids,
  })
  return {
    config: parts.config,
    log: parts.log,
    clock,
    ids,
    db,
    secrets: loadSecrets(parts.config.DATA_DIR),
    metrics: makeMetrics(),
  }
}

/** `/livez` needs nothing; `/readyz` needs the database and the signer, and says no while the process is stopping. */
const healthPages = (ctx: Ctx, signer: signing.Signer, isStopping: () => boolean): Page[] => [
  { path: '/livez', handler: async () => ({ mediaType: 'text/plain', text: 'alive\n' }) },
  {
    path: '/readyz',
    handler: async () => {
      if (isStopping()) return { status: 503, mediaType: 'text/plain', text: 'stopping\n' }
      const readinessChecks = {
        database: () => inTransaction(ctx, 'system', readNow),
        signer: signer.selfTest,
      }
      for (const [name, answers] of Object.entries(readinessChecks)) {
        try {
          await answers()
        } catch {
          return { status: 503, mediaType: 'text/plain', text: `the ${name} does not answer\n` }
        }
      }
      return { mediaType: 'text/plain', text: 'ready\n' }
    },
  },
]

/** An agent's allowed pages, and ours: people enrol there, whatever origins the agent lists. */
const findSiteWith =
  (ownOrigin: string): sessions.FindSite =>
  async (tx, agentId) => {
    const site = await agents.findSite(tx, agentId)
    if (!site || site.allowedOrigins.length === 0) return site
    return { ...site, allowedOrigins: [...site.allowedOrigins, ownOrigin] }
  }

export type App = {
  readonly api: FastifyInstance
  readonly operator: FastifyInstance
  /** What must stand in the database before the first request; the same at every start. */
  readonly start: () => Promise<void>
  readonly stopAccepting: () => void
}

/** Where the Stars of people who work are: in the operator's book, on the accounts that payouts draw from. */
const ledgerAccountsOf = (ctx: Ctx) => ({
  platformAgentOf: (mode: Mode) => agents.platformAgentId(ctx.config, mode),
  starsAccountOf: partners.userAccountOf,
})
/** What a reference to work names: a purchase, an order or one of its units. */
const findWorkRef = (tx: Tx, key: work.WorkRefKey): Promise<work.WorkRef | undefined> =>
  key.ref.startsWith('pur_') ? purchases.findPurchaseRef(tx, key) : work.findWorkRef(tx, key)

/** The signed credentials of an agent's sessions. */
const findTokens: work.FindCredentialTokens = async (tx, { agentId, mode }, sessionIds) => {
  const stored = await credentials.listMintedCredentials(
    tx,
    sessionIds.map((reference) => ({ agentId, mode, act: 'session', reference })),
  )
  return new Map(
    sessionIds.flatMap((sessionId, index) => {
      const found = stored[index]
      return found ? [[sessionId, found.jwt]] : []
    }),
  )
}

/** What each purpose of a card payment does when its money comes or goes. */
const settlersOf = (ctx: Ctx): payments.Settlers => ({
  credits: credits.cardSettler,
  order: work.makeCardSettler(ledgerAccountsOf(ctx)),
})
/** What the ledger is compared with, besides itself. */
const comparisons: readonly ledger.Comparison[] = [
  credentials.debitReconciliation({ listPosted: ledger.listPosted, listUnposted: ledger.listUnposted }),
  credits.cardComparison,
  purchases.purchaseReconciliation,
  work.escrowReconciliation,
]

/** What brings paid purchases to their end; undefined where nothing settles. The api and the worker each have one. */
const makePurchaseSettlement = (
  ctx: Ctx,
  parts: { readonly settlement: payments.Settlement | undefined; readonly mint: credentials.PurchaseMint },
): purchases.PurchaseSettlement | undefined => {
  const { settlement, mint } = parts
  const revoke = async (credentialId: string, reason: string) => {
    await credentials.revokeByMachine({ ctx, audit: operators.audit }, { credentialId, reason })
  }
  return settlement && { ctx, settlement, mint, stock: purchases.stock, revoke }
}

/**
 * The composition root: every module mounted, in the order of the specification. `issuers` are plug-ins: whom a
 * deployment trusts outside to tell one human from another.
 */
export const buildApp = (ctx: Ctx, issuers: readonly members.ExternalIssuer[] = []): App => {
  let stopping = false
  const authenticator = agents.makeAuthenticator(ctx)
  const authenticate = {
    agent: authenticator.authenticate,
    operator: (key: string) => operators.authenticate(ctx, key),
    member: (browser: Browser) => members.authenticate(ctx, browser),
  }
  const signer = signing.connectSigner(ctx.config.SIGNER_SOCKET, ctx.clock)
  const health = healthPages(ctx, signer, () => stopping)
  const provider = payments.makeCardProvider(ctx)
  const paymentsService = payments.makePayments(ctx, provider)
  const { isEmailConfirmed, findRegistrationOrigin } = agents
  const creditsService = credits.makeCredits(ctx, { isEmailConfirmed, findRegistrationOrigin })
  const trust = evidence.loadDeviceTrust(ctx.config, ctx.clock.now())
  const completedWork = work.makeCompletedWork(ctx)
  const erasers = [evidence.eraseEvidence, credentials.eraseCredentialLinks, microtasks.forgetCompletions]
  const membersDeps = {
    ctx,
    passkeyVerifier: evidence.makePasskeyVerifier(trust),
    findName: agents.findName,
    issuers,
    exportMember: evidence.listMemberTraces,
    erasers,
    completedWork,
  }
  const statusIndexes = credentials.makeStatusIndexes(ctx, signer)
  const purchaseMint = credentials.makePurchaseMint({ ctx, signer, statusIndexes })
  const chainSettlementService = payments.makeSettlement(ctx)
  const purchaseSettlement = makePurchaseSettlement(ctx, {
    settlement: chainSettlementService,
    mint: purchaseMint,
  })
  const credentialsDeps = {
    ctx,
    signer,
    statusIndexes,
    credits: creditsService,
    findWorkRef,
    findCardPayment: paymentsService.findCardPayment,
  }
  const workerDeps: work.WorkerDeps = {
    ctx,
    ...ledgerAccountsOf(ctx),
    mintWork: credentials.makeWorkMint(credentialsDeps),
    findNetworkTag: async (tx, agentId) => (await findRegistrationOrigin(tx, agentId))?.networkTag,
    networkTagOf: (address) => agents.networkTagOf(ctx, address),
    requestPayout: partners.requestPayout,
    findPayoutSums: partners.findPayoutSums,
  }
  const routes = [
    ...agents.routes(ctx, authenticator),
    ...credits.routes(ctx, { credits: creditsService, payments: paymentsService }),
    ...credentials.routes(credentialsDeps),
    ...sessions.routes(ctx, {
      findSite: findSiteWith(members.originOf(ctx.config).origin),
      onClosed: evidence.makeScoring(ctx).onClosed,
    }),
    ...members.routes(membersDeps),
    ...evidence.routes(ctx, { ctx, trust, findSettings: agents.findAttestationSettings }),
    ...tracking.routes(ctx),
    ...work.routes(ctx, {
      ...workerDeps,
      payments: paymentsService,
      findTokens,
    }),
    ...microtasks.routes(ctx, {
      findMode: agents.findMode,
      recordTaskSession: evidence.recordTaskSession,
    }),
    ...purchases.routes({
      ctx,
      purchaseFlow: purchaseSettlement && purchases.makePurchaseFlow(purchaseSettlement),
      platformAgentId: (mode) => agents.platformAgentId(ctx.config, mode),
    }),
    ...payments.routes(ctx, { provider, settlers: settlersOf(ctx) }),
    ...webhooks.routes(ctx),
    ...partners.routes(ctx),
    ...signing.routes(signer),
    ...vhh.routes(ctx, signer),
  ]
  const settlement: discovery.PaymentOptions = {
    chains: chainSettlementService ? [chainSettlementService.network.caip2] : [],
    card: paymentsService.acceptsCards,
    countPurchasable: async () =>
      chainSettlementService
        ? inTransaction(ctx, 'system', (tx) =>
            purchases.countPurchasable(tx, chainSettlementService.network.isTest ? 'test' : 'live'),
          )
        : 0,
  }
  const admission = makeRateLimits(ctx)
  const dispatcher = makeDispatcher({ ctx, endpoints, routes, admission })
  const api = buildListener({
    ctx,
    endpoints,
    routes: [...routes, ...discovery.routes(ctx, dispatcher, settlement)],
    pages: [
      ...health,
      ...agents.pages,
      ...credits.pages(ctx, paymentsService),
      ...payments.pages(ctx),
      ...discovery.pages(ctx),
      ...discovery.webPages(ctx.config.BASE_URL),
      ...discovery.tagPages(),
      ...members.pages(membersDeps),
      ...work.pages(discovery.templateOf('work.html')),
    ],
    authenticate,
    admission,
  })
  // A first reader waits for nothing; where this fails, reading publishes.
  api.addHook('onReady', async () => {
    await vhh.ensureEpochs(ctx, signer).catch((error: unknown) => {
      ctx.log.warn({ err: error }, 'vhh epoch not published at start')
    })
  })
  const operator = buildListener({
    ctx,
    endpoints: operatorEndpoints,
    routes: [
      ...operators.operatorRoutes(ctx),
      ...agents.operatorRoutes(ctx, authenticator, operators.audit),
      ...signing.operatorRoutes(ctx, signer, {
        audit: operators.audit,
        listStored: credentials.listSigned,
      }),
      ...credentials.operatorRoutes(ctx, operators.audit),
      ...members.operatorRoutes({ ctx, audit: operators.audit, erasers, completedWork }),
      ...credits.operatorRoutes(ctx),
      ...payments.operatorRoutes(ctx, { audit: operators.audit, settlers: settlersOf(ctx) }),
      ...ledger.operatorRoutes(ctx, comparisons),
      ...partners.operatorRoutes(ctx, operators.audit),
      ...work.operatorRoutes({ ctx, audit: operators.audit, platformLedger: ledgerAccountsOf(ctx) }),
      ...purchases.operatorRoutes({ ctx, audit: operators.audit, settlement: chainSettlementService }),
    ],
    pages: [
      ...health,
      ...discovery.operatorPages(ctx.config.BASE_URL),
      {
        path: '/metrics',
        handler: async () => {
          await measureOutbox(ctx)
          return { mediaType: ctx.metrics.registry.contentType, text: await ctx.metrics.registry.metrics() }
        },
      },
    ],
    authenticate,
    admission: makeRateLimits(ctx),
  })
  api.addHook('onClose', async () => signer.close())
  return {
    api,
    operator,
    start: async () => {
      if ((await trust).capped)
        ctx.log.warn('ATTEST_ROOTS_FILE is set: what its roots vouch for counts as software, no more')
      await agents.ensurePlatformAgents(ctx)
      await work.seedWorkflows(ctx)
    },
    stopAccepting: () => {
      stopping = true
    },
  }
}

/** What the worker does. */
export const buildJobs = (ctx: Ctx): Job[] => {
  const sendMail = makeMailSender(ctx)
  const signer = signing.connectSigner(ctx.config.SIGNER_SOCKET, ctx.clock)
  const statusIndexes = credentials.makeStatusIndexes(ctx, signer)
  const purchaseSettlement = makePurchaseSettlement(ctx, {
    settlement: payments.makeSettlement(ctx),
    mint: credentials.makePurchaseMint({ ctx, signer, statusIndexes }),
  })
  return [
    {
      name: 'events',
      everyMs: 500,
      run: () => drainOutbox(ctx, 'event', { withinTransaction: webhooks.fanOut }),
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
    ...work.jobs(ctx, ledgerAccountsOf(ctx)),
    microtasks.tokenCleanupDuty(ctx),
    ...(purchaseSettlement ? purchases.purchaseJobs(purchaseSettlement) : []),
    ...sessions.jobs(ctx),
    ...payments.jobs(ctx, { provider: payments.makeCardProvider(ctx), settlers: settlersOf(ctx) }),
    ...evidence.makeScoring(ctx).jobs,
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
    ]),
  ]
}
