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
import { makeAdmission } from '../platform/http/admission.ts'
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
import { maintenanceDuty } from '../platform/db/maintenance.ts'
import { makeMetrics } from '../platform/ops/metrics.ts'
import { drainOutbox, measureOutbox } from '../platform/queue/outbox.ts'
import { loadSecrets } from '../platform/ops/secrets.ts'
import type { Duty } from '../platform/queue/worker.ts'
import * as sessions from '../sessions/index.ts'
import * as webhooks from '../webhooks/index.ts'
import * as tracking from '../tracking/index.ts'
import * as vhh from '../vhh/index.ts'
import * as work from '../work/index.ts'
import * as microtasks from '../microtasks/index.ts'
import * as purchases from '../purchases/index.ts'

export type Parts = {
  readonly config: Config
  readonly log: Logger
  readonly clock?: Clock
  readonly name: string
}

/** Builds what every operation is given. */
export const buildContext = (parts: Parts): Ctx => {
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
      const needs = { database: () => inTransaction(ctx, 'system', readNow), signer: signer.selfTest }
      for (const [name, answers] of Object.entries(needs)) {
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
  readonly stopTaking: () => void
}

/** Where the Stars of people who work are: in the operator's book, on the accounts that payouts draw from. */
const booksOf = (ctx: Ctx) => ({
  houseOf: (mode: Mode) => agents.houseAgentId(ctx.config, mode),
  starsAccountOf: partners.userAccountOf,
})
/** What a reference to work names: a purchase, an order or one of its units. */
const findWorkRef = (tx: Tx, key: work.WorkRefKey): Promise<work.WorkRef | undefined> =>
  key.ref.startsWith('pur_') ? purchases.findPurchaseRef(tx, key) : work.findWorkRef(tx, key)

/** The signed credentials of an agent's sessions. */
const findTokens: work.FindTokens = async (tx, { agentId, mode }, sessionIds) => {
  const stored = await credentials.listStored(
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
  order: work.makeCardSettler(booksOf(ctx)),
})
/** What the ledger is compared with, besides itself. */
const comparisons: readonly ledger.Comparison[] = [
  credentials.debitComparison({ listPosted: ledger.listPosted, listUnposted: ledger.listUnposted }),
  credits.cardComparison,
  purchases.purchaseComparison,
  work.escrowComparison,
]

/** What brings paid purchases to their end; undefined where nothing settles. The api and the worker each have one. */
const makeTill = (
  ctx: Ctx,
  parts: { readonly settlement: payments.Settlement | undefined; readonly mint: credentials.PurchaseMint },
): purchases.Till | undefined => {
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
  const paymentsDesk = payments.makePayments(ctx, provider)
  const { isEmailConfirmed, findOrigin } = agents
  const creditsDesk = credits.makeCredits(ctx, { isEmailConfirmed, findOrigin })
  const trust = evidence.loadDeviceTrust(ctx.config, ctx.clock.now())
  const worked = work.makeWorked(ctx)
  const forget = [evidence.forgetEvidence, credentials.forgetCredentials, microtasks.forgetCompletions]
  const membersDeps = {
    ctx,
    judge: evidence.makePasskeyJudge(trust),
    findName: agents.findName,
    issuers,
    tell: evidence.listMemberTraces,
    forget,
    worked,
  }
  const statusIndexes = credentials.makeStatusIndexes(ctx, signer)
  const purchaseMint = credentials.makePurchaseMint({ ctx, signer, statusIndexes })
  const chainDesk = payments.makeSettlement(ctx)
  const till = makeTill(ctx, { settlement: chainDesk, mint: purchaseMint })
  const credentialsDeps = {
    ctx,
    signer,
    statusIndexes,
    credits: creditsDesk,
    findWorkRef,
    findCardPayment: paymentsDesk.findCardPayment,
  }
  const workerDeps: work.WorkerDeps = {
    ctx,
    ...booksOf(ctx),
    mintWork: credentials.makeWorkMint(credentialsDeps),
    findNetwork: async (tx, agentId) => (await findOrigin(tx, agentId))?.networkTag,
    networkOf: (address) => agents.networkTagOf(ctx, address),
    requestPayout: partners.requestPayout,
    starsHeldOf: partners.findPayoutSums,
  }
  const routes = [
    ...agents.routes(ctx, authenticator),
    ...credits.routes(ctx, { credits: creditsDesk, payments: paymentsDesk }),
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
      payments: paymentsDesk,
      findTokens,
    }),
    ...microtasks.routes(ctx, {
      findMode: agents.findMode,
      recordTaskSession: evidence.recordTaskSession,
    }),
    ...purchases.routes({
      ctx,
      shop: till && purchases.makeShop(till),
      houseAgentId: (mode) => agents.houseAgentId(ctx.config, mode),
    }),
    ...payments.routes(ctx, { provider, settlers: settlersOf(ctx) }),
    ...webhooks.routes(ctx),
    ...partners.routes(ctx),
    ...signing.routes(signer),
    ...vhh.routes(ctx, signer),
  ]
  const settlement: discovery.Settlement = {
    chains: chainDesk ? [chainDesk.network.caip2] : [],
    card: paymentsDesk.takesCards,
    countPurchasable: async () =>
      chainDesk
        ? inTransaction(ctx, 'system', (tx) =>
            purchases.countPurchasable(tx, chainDesk.network.isTest ? 'test' : 'live'),
          )
        : 0,
  }
  const admission = makeAdmission(ctx)
  const dispatcher = makeDispatcher({ ctx, endpoints, routes, admission })
  const api = buildListener({
    ctx,
    endpoints,
    routes: [...routes, ...discovery.routes(ctx, dispatcher, settlement)],
    pages: [
      ...health,
      ...agents.pages,
      ...credits.pages(ctx, paymentsDesk),
      ...payments.pages(ctx),
      ...discovery.pages(ctx),
      ...discovery.consolePages(ctx.config.BASE_URL),
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
      ctx.log.warn({ err: error }, 'the index epoch could not be published at the start')
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
      ...members.operatorRoutes({ ctx, audit: operators.audit, forget, worked }),
      ...credits.operatorRoutes(ctx),
      ...payments.operatorRoutes(ctx, { audit: operators.audit, settlers: settlersOf(ctx) }),
      ...ledger.operatorRoutes(ctx, comparisons),
      ...partners.operatorRoutes(ctx, operators.audit),
      ...work.operatorRoutes({ ctx, audit: operators.audit, books: booksOf(ctx) }),
      ...purchases.operatorRoutes({ ctx, audit: operators.audit, settlement: chainDesk }),
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
    admission: makeAdmission(ctx),
  })
  api.addHook('onClose', async () => signer.close())
  return {
    api,
    operator,
    start: async () => {
      if ((await trust).capped)
        ctx.log.warn('ATTEST_ROOTS_FILE is set: what its roots vouch for counts as software, no more')
      await agents.ensureHouseAgents(ctx)
      await work.seed(ctx)
    },
    stopTaking: () => {
      stopping = true
    },
  }
}

/** What the worker does. */
export const buildDuties = (ctx: Ctx): Duty[] => {
  const sendMail = makeMailSender(ctx)
  const signer = signing.connectSigner(ctx.config.SIGNER_SOCKET, ctx.clock)
  const statusIndexes = credentials.makeStatusIndexes(ctx, signer)
  const till = makeTill(ctx, {
    settlement: payments.makeSettlement(ctx),
    mint: credentials.makePurchaseMint({ ctx, signer, statusIndexes }),
  })
  return [
    { name: 'events', everyMs: 500, run: () => drainOutbox(ctx, 'event', { within: webhooks.fanOut }) },
    webhooks.deliveryDuty(ctx, agents.findContact),
    webhooks.watchDuty(ctx, agents.findContact),
    webhooks.recoveryDuty(ctx),
    ...(sendMail
      ? [{ name: 'mails', everyMs: 500, run: () => drainOutbox(ctx, 'mail', { before: sendMail }) }]
      : []),
    ...work.duties(ctx, booksOf(ctx)),
    microtasks.tokenCleanupDuty(ctx),
    ...(till ? purchases.purchaseDuties(till) : []),
    ...sessions.duties(ctx),
    ...payments.duties(ctx, { provider: payments.makeCardProvider(ctx), settlers: settlersOf(ctx) }),
    ...evidence.makeScoring(ctx).duties,
    vhh.epochDuty(ctx, signer),
    credentials.statusDuty(ctx, signer),
    ledger.reconcileDuty(ctx, comparisons),
    tracking.retentionDuty(ctx),
    webhooks.retentionDuty(ctx),
    maintenanceDuty(ctx, [
      agents.deleteOldMailTokens,
      members.deleteOldCeremonies,
      credentials.deleteEndedWallets,
      evidence.deleteOldNonces,
      evidence.deleteOldAttestations,
    ]),
  ]
}
