import { setTimeout } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import * as agents from '../agents/index.ts'
import type { ExternalIssuer } from '../members/index.ts'
import { addGracefulClose, type ServingState } from '../platform/http/http-close.ts'
import type { Ctx } from '../platform/ops/context.ts'
import * as vhh from '../vhh/index.ts'
import * as work from '../work/index.ts'
import { buildApi } from './api.ts'
import { healthPages } from './health.ts'
import { buildOperator } from './operator.ts'
import { buildServices } from './services.ts'

export { buildContext } from './context.ts'
export { buildJobs } from './worker.ts'

export type App = {
  readonly api: FastifyInstance
  readonly operator: FastifyInstance
  /** Writes the rows that must exist before the first request. Safe to run at every start. */
  readonly start: () => Promise<void>
  /** Refuses everything but health checks until `open`. */
  readonly hold: () => void
  readonly open: () => void
  /** Turns readiness off, serves on for `waitSeconds`, then closes both listeners after the last response. */
  readonly stop: (waitSeconds: number) => Promise<void>
}

/**
 * Builds both listeners of the api process. `issuers` are plug-ins: the outside issuers that a deployment trusts to tell
 * one human from another.
 */
export const buildApp = (ctx: Ctx, issuers: readonly ExternalIssuer[] = []): App => {
  const state: ServingState = { value: 'serving' }
  const services = buildServices(ctx, issuers)
  const health = healthPages(services, () => state.value)
  const api = buildApi(services, health)
  const operator = buildOperator(services, health)
  const closers = [api, operator].map((listener) => addGracefulClose(listener, state))
  return {
    api,
    operator,
    start: async () => {
      if ((await services.deviceTrust).capped)
        ctx.log.warn(
          { setting: 'ATTEST_ROOTS_FILE', file: ctx.config.ATTEST_ROOTS_FILE },
          'devices that custom attestation roots certify count as software: ATTEST_ALLOW_CUSTOM_ROOTS is off',
        )
      await agents.ensurePlatformAgents(ctx)
      await work.seedWorkflows(ctx)
      // So that the first reader does not wait for the signature. Where this fails, the first read publishes the epoch.
      await vhh.ensureEpochs(ctx, services.signer).catch((error: unknown) => {
        ctx.log.warn({ err: error }, 'VHH epoch not published at start; the first reader publishes it')
      })
    },
    hold: () => {
      state.value = 'starting'
    },
    open: () => {
      if (state.value === 'starting') state.value = 'serving'
    },
    stop: async (waitSeconds) => {
      state.value = 'stopping'
      await setTimeout(waitSeconds * 1_000)
      await Promise.all(closers.map((close) => close()))
    },
  }
}
