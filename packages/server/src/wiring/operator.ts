import { operatorEndpoints } from '@pohf/protocol'
import type { FastifyInstance } from 'fastify'
import * as agents from '../agents/index.ts'
import * as credentials from '../credentials/index.ts'
import * as credits from '../credits/index.ts'
import * as discovery from '../discovery/index.ts'
import * as evidence from '../evidence/index.ts'
import * as ledger from '../ledger/index.ts'
import * as members from '../members/index.ts'
import * as operators from '../operators/index.ts'
import * as partners from '../partners/index.ts'
import * as payments from '../payments/index.ts'
import type { Tx } from '../platform/db/db.ts'
import { makeRateLimits } from '../platform/http/rate-limits.ts'
import type { ErrorPage, Page, Route } from '../platform/http/call.ts'
import { buildListener } from '../platform/http/http.ts'
import type { Ctx } from '../platform/ops/context.ts'
import * as purchases from '../purchases/index.ts'
import * as roots from '../roots/index.ts'
import * as signing from '../signing/index.ts'
import * as trust from '../trust/index.ts'
import * as vhh from '../vhh/index.ts'
import * as work from '../work/index.ts'
import type { Services } from './services.ts'
import type { Health } from './health.ts'
import { countWork, readHoldings, readKeysOf } from './overview.ts'
import { restorePartsOf } from './restore-parts.ts'
import { indexDepsOf } from './sources.ts'
import { comparisons, unitDepsOf, settlersOf } from './settlement.ts'

/** Only workers' Stars are in the ledger of the platform agent. */
const payoutRisksOf =
  (ctx: Ctx): partners.ListPayoutRisks =>
  async (tx, payouts) => {
    const isWorker = ({ agentId, mode }: (typeof payouts)[number]) =>
      agentId === agents.platformAgentId(ctx.config, mode)
    const workers = payouts.filter(isWorker).map(({ mode, userRef }) => ({ mode, worker: userRef }))
    const risks = (await work.listPayoutRisks(tx, workers)).values()
    return payouts.map((payout) => (isWorker(payout) ? (risks.next().value ?? null) : null))
  }

const isAgent = async (tx: Tx, agentId: string): Promise<boolean> =>
  (await agents.findMode(tx, agentId)) !== undefined

const operatorRoutes = (services: Services, readChecks: Health['readChecks']): Route[] => {
  const { ctx, passkeyVerifier } = services
  const { audit } = operators
  return [
    ...operators.operatorRoutes(
      {
        ctx,
        passkeyVerifier,
        site: operators.siteOf(ctx.config),
        readChecks,
        readKeys: readKeysOf(services.signer),
        countWork,
      },
      services.operatorBearers,
    ),
    ...agents.operatorRoutes(ctx, services.authenticator, { audit, readHoldings }),
    ...signing.operatorRoutes(ctx, services.signer, {
      audit,
      listStored: credentials.listSignedTokens,
      guard: services.restoreGuard,
      parts: restorePartsOf(services),
    }),
    ...credentials.operatorRoutes(ctx, audit),
    ...members.operatorRoutes({ ctx, audit, ...services.erasure }),
    ...credits.operatorRoutes({ ctx, audit, findMode: agents.findMode }),
    ...payments.operatorRoutes(ctx, { audit, settlers: settlersOf(ctx) }),
    ...ledger.operatorRoutes(ctx, comparisons),
    ...partners.operatorRoutes({ ctx, audit, findMode: agents.findMode, listRisks: payoutRisksOf(ctx) }),
    ...work.operatorRoutes({ ctx, audit, unitDeps: unitDepsOf(ctx) }),
    ...evidence.operatorRoutes({ ctx, audit, isAgent }),
    ...roots.operatorRoutes({
      ctx,
      audit,
      isAgent,
      changeCredentialState: unitDepsOf(ctx).changeCredentialState,
    }),
    ...trust.operatorRoutes({ ctx, audit, keyless: services.keyless }),
    ...vhh.operatorRoutes({ ...indexDepsOf(ctx, services.signer), audit }),
    ...purchases.operatorRoutes({ ctx, audit, settlement: services.chainSettlement }),
  ]
}

/** Builds the operators' listener, which has limits of its own. */
export const buildOperator = (
  services: Services,
  {
    readChecks,
    pages,
    errorPage,
  }: {
    readonly readChecks: Health['readChecks']
    readonly pages: readonly Page[]
    readonly errorPage: ErrorPage
  },
): FastifyInstance => {
  const { ctx, authenticate } = services
  return buildListener({
    ctx,
    endpoints: operatorEndpoints,
    routes: operatorRoutes(services, readChecks),
    pages: [...pages, ...discovery.operatorPages(ctx.config.BASE_URL)],
    authenticate,
    rateLimits: makeRateLimits(ctx),
    checkWrite: services.restoreGuard.checkWrite,
    noteRequest: services.requestLog.note,
    errorPage,
  })
}
