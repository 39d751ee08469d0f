import { endpoints, operatorEndpoints } from '@pohf/protocol'
import type { FastifyInstance } from 'fastify'
import * as agents from './agents/index.ts'
import * as credits from './credits/index.ts'
import * as discovery from './discovery/index.ts'
import * as operators from './operators/index.ts'
import * as partners from './partners/index.ts'
import * as payments from './payments/index.ts'
import { systemClock, type Clock } from './platform/clock.ts'
import type { Page } from './platform/call.ts'
import type { Config } from './platform/config.ts'
import type { Ctx } from './platform/context.ts'
import { inTransaction, openDatabase, readNow } from './platform/db.ts'
import { buildListener } from './platform/http.ts'
import { makeIds } from './platform/ids.ts'
import type { Logger } from './platform/log.ts'
import { makeMailSender } from './platform/mail.ts'
import { maintenanceDuty } from './platform/maintenance.ts'
import { makeMetrics } from './platform/metrics.ts'
import { drainOutbox } from './platform/outbox.ts'
import { loadSecrets } from './platform/secrets.ts'
import type { Duty } from './platform/worker.ts'

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

/** `/livez` needs nothing; `/readyz` needs the database and says no while the process is stopping. */
const healthPages = (ctx: Ctx, isStopping: () => boolean): Page[] => [
  { path: '/livez', handler: async () => ({ mediaType: 'text/plain', text: 'alive\n' }) },
  {
    path: '/readyz',
    handler: async () => {
      if (isStopping()) return { status: 503, mediaType: 'text/plain', text: 'stopping\n' }
      try {
        await inTransaction(ctx, 'system', readNow)
        return { mediaType: 'text/plain', text: 'ready\n' }
      } catch {
        return { status: 503, mediaType: 'text/plain', text: 'the database does not answer\n' }
      }
    },
  },
]

export type App = {
  readonly api: FastifyInstance
  readonly operator: FastifyInstance
  readonly stopTaking: () => void
}

/** The composition root: every module mounted, in the order of the specification. */
export const buildApp = (ctx: Ctx): App => {
  let stopping = false
  const authenticator = agents.makeAuthenticator(ctx)
  const authenticate = {
    agent: authenticator.authenticate,
    operator: (key: string) => operators.authenticate(ctx, key),
  }
  const health = healthPages(ctx, () => stopping)
  const paymentsDesk = payments.makePayments(ctx)
  const { isEmailConfirmed, findOrigin } = agents
  const creditsDesk = credits.makeCredits(ctx, { isEmailConfirmed, findOrigin })
  const api = buildListener({
    ctx,
    endpoints,
    routes: [
      ...agents.routes(ctx, authenticator),
      ...credits.routes(ctx, { credits: creditsDesk, payments: paymentsDesk }),
      ...partners.routes(ctx),
    ],
    pages: [...health, ...agents.pages, ...credits.pages(ctx), ...payments.pages(ctx), ...discovery.pages],
    authenticate,
  })
  const operator = buildListener({
    ctx,
    endpoints: operatorEndpoints,
    routes: [
      ...operators.operatorRoutes(ctx),
      ...agents.operatorRoutes(ctx, authenticator, operators.audit),
      ...partners.operatorRoutes(ctx, operators.audit),
    ],
    pages: [
      ...health,
      {
        path: '/metrics',
        handler: async () => ({
          mediaType: ctx.metrics.registry.contentType,
          text: await ctx.metrics.registry.metrics(),
        }),
      },
    ],
    authenticate,
  })
  return {
    api,
    operator,
    stopTaking: () => {
      stopping = true
    },
  }
}

/** What the worker does. Events have no receivers yet: webhooks register theirs here. */
export const buildDuties = (ctx: Ctx): Duty[] => {
  const sendMail = makeMailSender(ctx)
  return [
    { name: 'events', everyMs: 500, run: () => drainOutbox(ctx, 'event', {}) },
    ...(sendMail
      ? [{ name: 'mails', everyMs: 500, run: () => drainOutbox(ctx, 'mail', { before: sendMail }) }]
      : []),
    ...payments.duties(ctx),
    maintenanceDuty(ctx),
  ]
}
