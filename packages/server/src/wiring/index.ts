import { setTimeout as wait } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import * as agents from '../agents/index.ts'
import * as evidence from '../evidence/index.ts'
import type { OutsideIssuer } from '../issuers/index.ts'
import type { CostBudget } from '../platform/http/cost-budget.ts'
import { addGracefulClose, type ServingState } from '../platform/http/http-connections.ts'
import type { Ctx } from '../platform/ops/context.ts'
import * as signing from '../signing/index.ts'
import * as vhh from '../vhh/index.ts'
import * as work from '../work/index.ts'
import { buildApi } from './api.ts'
import { makeHealth } from './health.ts'
import { renderMetrics } from './metrics.ts'
import { buildOperator } from './operator.ts'
import { buildServices, type Services } from './services.ts'
import { indexDepsOf } from './sources.ts'

export { buildContext } from './context.ts'
export { sealedColumns } from './sealed-columns.ts'
export { buildJobs } from './worker.ts'

export type App = {
  readonly api: FastifyInstance
  readonly operator: FastifyInstance
  /** The metrics of this process, in the text format of Prometheus. */
  readonly renderMetrics: () => ReturnType<typeof renderMetrics>
  /** Writes the required rows, or does so later if the database cannot be compared yet. Safe to run at every start. */
  readonly start: () => Promise<void>
  /** Passes key manifests and revocations on, every second until the stop. */
  readonly startManifestSync: () => void
  /** What callers without a key may cost the public listener. */
  readonly costBudget: CostBudget
  /** Starts the thread that scores sessions. */
  readonly startScoring: () => void
  /** Refuses everything but health checks until `open`. */
  readonly hold: () => void
  readonly open: () => void
  /** Turns readiness off, serves on for `waitSeconds`, then closes both listeners after the last response. */
  readonly stop: (waitSeconds: number) => Promise<void>
}

/** The delay before the next attempt to write the required rows, after a failure or while a restore may be pending. */
const retryMs = 1_000

/** Writes the rows that every deployment needs, as soon as it is known that the database was not restored to an earlier state. */
const makeSeeding = (ctx: Ctx, { restoreGuard, signer }: Services) => {
  let timer: NodeJS.Timeout | undefined
  let stopped = false
  const retry = (): void => {
    if (stopped) return
    timer = setTimeout(() => {
      seed().catch((error: unknown) => {
        ctx.log.error({ err: error }, 'required rows not written; trying again')
        retry()
      })
    }, retryMs).unref()
  }
  const seed = async (): Promise<void> => {
    if (await restoreGuard.isPending()) return retry()
    await agents.ensurePlatformAgents(ctx)
    await work.seedWorkflows(ctx)
    // So that the first reader does not wait for the signature. Where this fails, the first read publishes the epoch.
    await vhh.ensureEpochs(indexDepsOf(ctx, signer)).catch((error: unknown) => {
      ctx.log.warn({ err: error }, 'VHH epoch not published at start; the first reader publishes it')
    })
  }
  return {
    seed,
    stop: (): void => {
      stopped = true
      clearTimeout(timer)
    },
  }
}

/** Builds both listeners of the api process. `issuers` are outside issuers besides those of ISSUERS_FILE. */
export const buildApp = (ctx: Ctx, issuers: readonly OutsideIssuer[] = []): App => {
  const state: ServingState = { value: 'serving' }
  const services = buildServices(ctx, issuers)
  const health = makeHealth(services, () => state.value)
  const measureSigners = () => signing.measureSigners(ctx, services.signer)
  const render = () => renderMetrics(ctx, [health.measure, measureSigners])
  const { api, errorPage, costBudget } = buildApi(services, health)
  const operator = buildOperator(services, {
    readChecks: health.readChecks,
    errorPage,
    pages: [...health.pages, { path: '/metrics', handler: render }],
  })
  const seeding = makeSeeding(ctx, services)
  api.addHook('onClose', async () => seeding.stop())
  const closers = [api, operator].map((listener) => addGracefulClose(listener, state))
  return {
    api,
    operator,
    renderMetrics: render,
    start: async () => {
      await evidence.checkDeviceTrust(ctx, services.loadDeviceTrust)
      await seeding.seed()
    },
    startManifestSync: services.signer.startManifestSync,
    startScoring: services.scoring.start,
    costBudget,
    hold: () => {
      state.value = 'starting'
    },
    open: () => {
      if (state.value === 'starting') state.value = 'serving'
    },
    stop: async (waitSeconds) => {
      state.value = 'stopping'
      await wait(waitSeconds * 1_000)
      await Promise.all(closers.map((close) => close()))
    },
  }
}
