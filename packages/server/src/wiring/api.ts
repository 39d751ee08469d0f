import { endpoints } from '@pohf/protocol'
import type { FastifyInstance } from 'fastify'
import * as accounts from '../accounts/index.ts'
import * as agents from '../agents/index.ts'
import * as approvals from '../approvals/index.ts'
import * as credentials from '../credentials/index.ts'
import * as credits from '../credits/index.ts'
import * as discovery from '../discovery/index.ts'
import * as evidence from '../evidence/index.ts'
import * as issuers from '../issuers/index.ts'
import * as members from '../members/index.ts'
import * as microtasks from '../microtasks/index.ts'
import * as partners from '../partners/index.ts'
import * as payments from '../payments/index.ts'
import { inTransaction, type Tx } from '../platform/db/db.ts'
import { unlessUnavailable } from '../platform/db/unless-unavailable.ts'
import { makeReadTexts } from '../platform/net/dns-texts.ts'
import { makeImageLoader } from '../platform/net/images.ts'
import { send } from '../platform/net/outbound.ts'
import { mountArrival } from '../platform/http/http-arrival.ts'
import { makeRateLimits } from '../platform/http/rate-limits.ts'
import type { ErrorPage, Page, Route } from '../platform/http/call.ts'
import type { ClientAddress } from '../platform/http/client-address.ts'
import type { CostBudget } from '../platform/http/cost-budget.ts'
import { makeDispatcher } from '../platform/http/dispatch.ts'
import { buildListener } from '../platform/http/http.ts'
import * as purchases from '../purchases/index.ts'
import * as questions from '../questions/index.ts'
import * as requests from '../requests/index.ts'
import * as sessions from '../sessions/index.ts'
import * as signing from '../signing/index.ts'
import * as tracking from '../tracking/index.ts'
import * as vhh from '../vhh/index.ts'
import * as webhooks from '../webhooks/index.ts'
import * as website from '../website/index.ts'
import * as work from '../work/index.ts'
import { makeReadParts, type Health } from './health.ts'
import type { Services } from './services.ts'
import { indexDepsOf } from './sources.ts'
import { unitDepsOf, settlersOf } from './settlement.ts'

/** An agent's allowed origins and our own: people work on our pages, whatever origins the agent lists. */
const findSiteOf = ({ ctx }: Services): sessions.FindSite => {
  const ownOrigin = members.originOf(ctx.config).origin
  return async (tx, agentId) => {
    const site = await agents.findSite(tx, agentId)
    if (!site || site.allowedOrigins.length === 0) return site
    return { ...site, allowedOrigins: [...site.allowedOrigins, ownOrigin] }
  }
}

/** Finds what a work reference names: a purchase, an order or a unit of an order. */
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

/** The signed credentials of decisions, by their references. */
const findDecisionTokens: approvals.ApprovalsDeps['findDecisionTokens'] = async (
  tx,
  { agentId, mode },
  references,
) => {
  const stored = await credentials.listMintedCredentials(
    tx,
    references.map((reference) => ({ agentId, mode, act: 'approval', reference })),
  )
  return new Map(
    references.flatMap((reference, index) => {
      const found = stored[index]
      return found ? [[reference, found.jwt]] : []
    }),
  )
}

/** What an agent knows of a member in modules other than members. */
const exportMember = async (tx: Tx, member: Parameters<typeof evidence.listMemberTraces>[1]) => ({
  ...(await evidence.listMemberTraces(tx, member)),
  approvals: await approvals.exportApprover(tx, member),
})

const membersDepsOf = ({ ctx, loadDeviceTrust, issuers, erasure }: Services) => ({
  ctx,
  passkeyVerifier: evidence.makePasskeyVerifier(loadDeviceTrust),
  findName: agents.findName,
  issuers,
  exportMember,
  ...erasure,
})

const accountsDepsOf = ({ ctx, authenticator, passkeyVerifier }: Services) => ({
  ctx,
  site: members.originOf(ctx.config),
  passkeyVerifier,
  addAgent: (tx: Tx, agent: Parameters<typeof agents.addConfirmedAgent>[2]) =>
    agents.addConfirmedAgent(tx, ctx, agent),
  findAgentName: agents.findName,
  listConfirmedAgents: agents.listConfirmedAgentsByEmail,
  listUsableKeys: agents.listUsableKeys,
  listWebhookUrls: webhooks.listEnabledUrls,
  findSite: agents.findSite,
  revokeAllKeys: agents.revokeAllKeys,
  disableAllWebhooks: webhooks.disableAllEndpoints,
  clearKeyCache: authenticator.clearCache,
  forgetBearers: authenticator.forgetBearers,
})

const credentialsDepsOf = (services: Services) => ({
  ctx: services.ctx,
  signer: services.signer,
  mintSigner: services.mintSigner,
  restoreGuard: services.restoreGuard,
  statusIndexes: services.statusIndexes,
  roots: services.roots,
  forging: services.forging,
  credits: services.credits,
  findPayoutRoot: services.findPayoutRoot,
  findWorkRef,
  findCardPayment: services.payments.findCardPayment,
  isEmailConfirmed: agents.isEmailConfirmed,
  findSite: findSiteOf(services),
})

const workDepsOf = (services: Services) => {
  const { ctx } = services
  return {
    ctx,
    ...unitDepsOf(ctx),
    mintWork: credentials.makeWorkMint(credentialsDepsOf(services)),
    loadImage: makeImageLoader(ctx),
    findNetworkTag: async (tx: Tx, agentId: string) =>
      (await agents.findRegistrationOrigin(tx, agentId))?.networkTag,
    networkTagOf: (address: ClientAddress) => agents.networkTagOf(ctx, address),
    requestPayout: partners.makeRequestWorkerPayout(ctx),
    findPayoutSums: partners.findPayoutSums,
    listPayoutAccounts: partners.listAccounts,
    payments: services.payments,
    findTokens,
    forgingPriceUsd: () => credentials.forgingPriceUsd(services.forging, 'work', 'network', ctx.clock.now()),
  }
}

const approvalsDepsOf = (services: Services): approvals.ApprovalsDeps => ({
  ctx: services.ctx,
  signReport: (claims) => services.signer.signTyped('approval-report+jwt', claims),
  findAgentName: agents.findName,
  findAgentMode: agents.findMode,
  hasAllowance: services.credits.hasAllowance,
  findDecisionTokens,
  mintApproval: credentials.makeApprovalMint(credentialsDepsOf(services)),
  passkeyVerifier: evidence.makePasskeyVerifier(services.loadDeviceTrust),
  issuers: services.issuers,
  platformAgentOf: unitDepsOf(services.ctx).platformAgentOf,
})

const sessionsDepsOf = (services: Services) => {
  const { ctx, roots, forging } = services
  return {
    findSite: findSiteOf(services),
    findRecordingOwner: services.findRecordingOwner,
    findDecisionOwner: approvals.makeFindDecisionOwner(unitDepsOf(ctx)),
    ownOrigin: members.originOf(ctx.config).origin,
    scoreClosed: services.scoring.scoreClosed,
    readVerdict: credentials.makeReadVerdict({
      ctx,
      roots,
      forging,
      findPolicy: agents.findPolicy,
      isMintedElsewhere: (session) => session.kind === 'approval' || work.isAssignmentSession(session),
    }),
    noteAddress: roots.noteAddress,
    admitBrowser: roots.admitBrowser,
  }
}

/** Every module's routes, in the order of the specification. */
const apiRoutes = (services: Services): Route[] => {
  const { ctx, purchaseSettlement, signer } = services
  const purchaseFlow = purchaseSettlement && purchases.makePurchaseFlow(purchaseSettlement)
  return [
    ...agents.routes(ctx, services.authenticator, accounts.isInAccount),
    ...accounts.routes(accountsDepsOf(services), services.consoleBearers),
    ...credits.routes(ctx, { credits: services.credits, payments: services.payments }),
    ...credentials.routes(credentialsDepsOf(services), services.verifyProgress),
    ...sessions.routes(ctx, sessionsDepsOf(services)),
    ...members.routes(membersDepsOf(services)),
    ...issuers.routes({
      ctx,
      issuers: services.issuers,
      origin: members.originOf(ctx.config).origin,
      readTexts: makeReadTexts(ctx.config.DNS_RESOLVERS),
      send,
      withdrawProofs: members.withdrawProofsOf,
      withdrawProof: members.withdrawProof,
    }),
    ...evidence.routes(ctx, {
      attest: {
        ctx,
        loadTrust: services.loadDeviceTrust,
        findSettings: agents.findAttestationSettings,
        platformAgentOf: (mode) => agents.platformAgentId(ctx.config, mode),
      },
      findRecordingOwner: services.findRecordingOwner,
      roots: services.roots,
    }),
    ...tracking.routes(ctx, tracking.makeAttentionStore(ctx)),
    ...requests.routes(ctx),
    ...approvals.routes(approvalsDepsOf(services)),
    ...work.routes(ctx, workDepsOf(services)),
    ...questions.routes({
      ...workDepsOf(services),
      purchaseFlow,
      insertSimulatedWork: (tx, key, challenge) =>
        evidence.insertSimulatedSession(tx, key, { profile: 'human', kind: 'work', challenge }),
    }),
    ...microtasks.routes(ctx, {
      findMode: agents.findMode,
      isBeforeRestore: signing.isBeforeRestore,
      recordTaskSession: (tx, completion) => evidence.recordTaskSession(tx, services.roots, completion),
      holdTaskAttention: (tx, completion) => evidence.holdTaskAttention(tx, services.roots, completion),
      recordHeldTask: (tx, completion) => evidence.recordHeldTask(tx, services.roots, completion),
      networkTagOf: (address) => agents.networkTagOf(ctx, address),
      isEmailConfirmed: agents.isEmailConfirmed,
      findMemberState: members.resolveMember,
    }),
    ...purchases.routes({
      ctx,
      purchaseFlow,
      platformAgentId: (mode) => agents.platformAgentId(ctx.config, mode),
    }),
    ...payments.routes(ctx, { provider: services.cardProvider, settlers: settlersOf(ctx) }),
    ...webhooks.routes(ctx),
    ...partners.routes({ ctx, isEmailConfirmed: agents.isEmailConfirmed }),
    ...signing.routes(signer),
    ...vhh.routes(indexDepsOf(ctx, signer)),
  ]
}

const apiPages = (services: Services): Page[] => {
  const { ctx } = services
  return [
    ...agents.pages,
    ...credits.pages(ctx, services.payments),
    ...payments.pages(ctx),
    ...discovery.pages(ctx, paymentOptionsOf(services)),
    ...discovery.protectedResourcePages(ctx),
    ...discovery.webPages(ctx.config.BASE_URL),
    ...discovery.tagPages(),
    ...members.pages(membersDepsOf(services)),
    ...issuers.pages,
    ...evidence.pages({ ctx, findName: agents.findName, issuers: services.issuers }),
    ...work.pages(ctx, discovery.templateOf('work.html')),
    ...approvals.pages(discovery.templateOf('approve.html')),
  ]
}

/** The pages for people who do not know the service yet. Without a built documentation they link to the text for models. */
const websiteOf = (services: Services, health: Health, others: readonly Page[]) => {
  const { ctx, branding, forging, payments: cards } = services
  const { DEMO_SITE: site } = ctx.config
  return website.makeWebsite({
    ctx,
    branding,
    forging,
    acceptsCards: cards.acceptsCards,
    demoSite: site === 'platform' ? agents.platformAgentId(ctx.config, 'test') : site,
    docsPath: others.some(({ path }) => path === '/docs' || path === '/docs/') ? '/docs' : '/llms.txt',
    programHome: discovery.home,
    readParts: makeReadParts(services, health),
    readIndex: () => vhh.readRecentMonths(ctx),
  })
}

/** The payment methods that the discovery documents advertise. */
const paymentOptionsOf = ({ ctx, chainSettlement, payments }: Services): discovery.PaymentOptions => ({
  chains: chainSettlement ? [chainSettlement.network.caip2] : [],
  ...(chainSettlement
    ? {
        asset: chainSettlement.network.asset,
        walletMode: chainSettlement.network.isTest ? 'test' : 'live',
      }
    : {}),
  card: payments.acceptsCards,
  countPurchasable: async () =>
    chainSettlement
      ? unlessUnavailable(
          inTransaction(ctx, 'system', (tx) =>
            purchases.countPurchasable(tx, chainSettlement.network.isTest ? 'test' : 'live'),
          ),
        )
      : 0,
})

/** Builds the public listener, and the page of an error, which the operators' listener shows too. */
export const buildApi = (
  services: Services,
  health: Health,
): {
  readonly api: FastifyInstance
  readonly errorPage: ErrorPage
  readonly costBudget: CostBudget
} => {
  const { ctx, signer } = services
  const routes = apiRoutes(services)
  const rateLimits = makeRateLimits(ctx)
  const { checkWrite } = services.restoreGuard
  const shared = { ctx, endpoints, authenticate: services.authenticate, rateLimits, checkWrite }
  const dispatcher = makeDispatcher({ ...shared, routes })
  const otherPages = [...health.pages, ...apiPages(services)]
  const { pages: websitePages, errorPage } = websiteOf(services, health, otherPages)
  const api = buildListener({
    ...shared,
    routes: [...routes, ...discovery.routes(ctx, dispatcher, paymentOptionsOf(services))],
    pages: [...otherPages, ...websitePages],
    errorPage,
    noteRequest: services.requestLog.note,
  })
  mountArrival(api, ctx)
  api.addHook('onClose', async () => {
    await services.requestLog.flush()
    await signer.close()
  })
  return { api, errorPage, costBudget: rateLimits.costBudget }
}
