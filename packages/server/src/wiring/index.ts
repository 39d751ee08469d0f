import type { FastifyInstance } from 'fastify'
import * as agents from '../agents/index.ts'
import type { ExternalIssuer } from '../members/index.ts'
import type { Ctx } from '../platform/ops/context.ts'
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
  readonly stopAccepting: () => void
}

/**
 * Builds both listeners of the api process. `issuers` are plug-ins: the outside issuers that a deployment trusts to tell
 * one human from another.
 */
export const buildApp = (ctx: Ctx, issuers: readonly ExternalIssuer[] = []): App => {
  let stopping = false
  const services = buildServices(ctx, issuers)
  const health = healthPages(ctx, services.signer, () => stopping)
  return {
    api: buildApi(services, health),
    operator: buildOperator(services, health),
    start: async () => {
      if ((await services.deviceTrust).capped)
        ctx.log.warn(
          { setting: 'ATTEST_ROOTS_FILE', file: ctx.config.ATTEST_ROOTS_FILE },
          'devices that custom attestation roots certify count as software: ATTEST_ALLOW_CUSTOM_ROOTS is off',
        )
      await agents.ensurePlatformAgents(ctx)
      await work.seedWorkflows(ctx)
    },
    stopAccepting: () => {
      stopping = true
    },
  }
}
