import { endpoints, operatorEndpoints } from '@pohf/protocol'
import type { FastifyInstance } from 'fastify'
import * as agents from './agents/index.ts'
import * as credentials from './credentials/index.ts'
import * as discovery from './discovery/index.ts'
import * as evidence from './evidence/index.ts'
import * as operators from './operators/index.ts'
import * as signing from './signing/index.ts'
import { systemClock, type Clock } from './platform/clock.ts'
import type { Page } from './platform/call.ts'
import type { Config } from './platform/config.ts'
import type { Ctx } from './platform/context.ts'
import { inTransaction, openDatabase, readNow } from './platform/db.ts'
import { Refusal } from './platform/errors.ts'
import { buildListener } from './platform/http.ts'
import { makeIds } from './platform/ids.ts'
import type { Logger } from './platform/log.ts'
import { makeMailSender } from './platform/mail.ts'
import { maintenanceDuty } from './platform/maintenance.ts'
import { makeMetrics } from './platform/metrics.ts'
import { drainOutbox, measureOutbox } from './platform/outbox.ts'
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
  const signer = signing.openSigner(ctx.config.DATA_DIR)
  const allowance: credentials.Allowance = {
    requireAllowance: async (_tx, agent) => {
      if (agent.mode === 'live')
        throw new Refusal('insufficient_credits', { buy: `${ctx.config.BASE_URL}/buy` })
    },
    spendOne: async () => undefined,
  }
  const health = healthPages(ctx, () => stopping)
  const api = buildListener({
    ctx,
    endpoints,
    routes: [
      ...agents.routes(ctx, authenticator),
      ...credentials.routes({ ctx, signer, allowance, findWorkRef: async () => undefined }),
      ...evidence.routes(ctx),
      ...signing.routes(signer),
    ],
    pages: [...health, ...agents.pages, ...discovery.pages, ...discovery.consolePages(ctx.config.BASE_URL)],
    authenticate,
  })
  const operator = buildListener({
    ctx,
    endpoints: operatorEndpoints,
    routes: [...operators.operatorRoutes(ctx), ...agents.operatorRoutes(ctx, authenticator, operators.audit)],
    pages: [
      ...health,
      {
        path: '/metrics',
        handler: async () => {
          await measureOutbox(ctx)
          return { mediaType: ctx.metrics.registry.contentType, text: await ctx.metrics.registry.metrics() }
        },
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
    maintenanceDuty(ctx, [agents.deleteOldMailTokens, evidence.deleteOldNonces]),
  ]
}
