import { readWorkerSeen } from '../platform/db/clock.ts'
import { requireVersions } from '../platform/db/versions.ts'
import { checkWrites, inTransaction } from '../platform/db/db.ts'
import type { Page } from '../platform/http/call.ts'
import type { ServingState } from '../platform/http/http-connections.ts'
import type { Ctx } from '../platform/ops/context.ts'
import type { PartStates } from '../website/index.ts'
import type { Services } from './services.ts'

type Check = { readonly name: string; readonly run: () => Promise<unknown> }

/** `/readyz` answers within this time, whatever a check waits for. */
const answerWithinMs = 2_000
/** Load balancers and strangers share one run: the checks never use more than one connection. */
const passedForMs = 1_000

const rejectAfter = (
  ms: number,
  name: string,
): { readonly late: Promise<never>; readonly stop: () => void } => {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`the ${name} check took longer than ${ms} ms`)), ms)
  return { late: promise, stop: () => clearTimeout(timer) }
}

/** Runs a check for all who ask at the same time. A failure is logged when it begins: anybody can call the page. */
const makeSharedCheck = (ctx: Ctx, { name, run }: Check): (() => Promise<boolean>) => {
  let running: Promise<unknown> | undefined
  let passedAt = -Infinity
  let failing = false
  return async () => {
    if (performance.now() - passedAt < passedForMs) return true
    running ??= run().finally(() => {
      running = undefined
    })
    const { late, stop } = rejectAfter(answerWithinMs, name)
    try {
      await Promise.race([running, late])
      passedAt = performance.now()
      failing = false
    } catch (error) {
      passedAt = -Infinity
      if (!failing) ctx.log.warn({ check: name, err: error }, 'readiness check failed')
      failing = true
    } finally {
      stop()
    }
    return !failing
  }
}

/**
 * A batch takes milliseconds, and mostly less than this if each round trip to the database takes 200 ms. Where connections
 * got lost, a new one passes the check of the database while calls still wait for the deadline of an old one.
 */
const stuckAfterMs = 3_000
const failIfStuck = ({ oldestMs }: Services['verifyProgress']): void => {
  const ms = oldestMs()
  if (ms > stuckAfterMs) throw new Error(`a batch of verify calls has waited ${Math.round(ms)} ms`)
}

/** Runs all checks at once and names those that fail. */
const makeReadiness = (ctx: Ctx, checks: readonly Check[]): (() => Promise<string[]>) => {
  const shared = checks.map((check) => ({ name: check.name, passes: makeSharedCheck(ctx, check) }))
  return async () => {
    const passed = await Promise.all(shared.map(({ passes }) => passes()))
    return shared.flatMap(({ name }, index) => (passed[index] ? [] : [name]))
  }
}

export type Health = {
  readonly pages: readonly Page[]
  /** Runs the checks of `/readyz`, for all who ask at the same time. */
  readonly readChecks: () => Promise<{ readonly name: string; readonly ok: boolean }[]>
  /** Runs the checks of `/readyz` and sets the metric of each. */
  readonly measure: () => Promise<void>
}

const failIfWorkerAway = async (ctx: Ctx): Promise<void> => {
  const { ok, seenAt } = await inTransaction(ctx, 'system', readWorkerSeen)
  if (!ok) throw new Error(`no worker ran since ${seenAt.toISOString()}`)
}

const stateOf = (ok: boolean) => (ok ? 'working' : 'failing')

/** The state of each part for the page of people. Without the database nobody knows when a worker ran. */
export const makeReadParts = (
  { ctx, chainSettlement }: Services,
  { readChecks }: Pick<Health, 'readChecks'>,
): (() => Promise<PartStates>) => {
  const checkWorker = makeSharedCheck(ctx, { name: 'worker', run: () => failIfWorkerAway(ctx) })
  const checkChain =
    chainSettlement && makeSharedCheck(ctx, { name: 'chain', run: () => chainSettlement.readHead() })
  return async () => {
    const [checks, isChainOk] = await Promise.all([readChecks(), checkChain?.()])
    const isOk = (name: string) => checks.some((check) => check.name === name && check.ok)
    return {
      api: stateOf(isOk('verify') && isOk('restore')),
      database: stateOf(isOk('database')),
      signer: stateOf(isOk('signer')),
      worker: isOk('database') ? stateOf(await checkWorker()) : 'unknown',
      chain: isChainOk === undefined ? 'off' : stateOf(isChainOk),
    }
  }
}

/**
 * `/livez` needs nothing. `/readyz` answers 200 while the process can mint, and `/readyz?for=read` while it can serve what
 * needs no database: keys, status lists, pages. Both answer 503 while the process is stopping.
 */
export const makeHealth = (
  { ctx, signer, verifyProgress, restoreGuard }: Services,
  readState: () => ServingState['value'],
): Health => {
  const mintChecks = [
    { name: 'database', run: () => checkWrites(ctx) },
    { name: 'signer', run: () => signer.selfTest(restoreGuard.database()) },
    { name: 'restore', run: restoreGuard.checkFindings },
    { name: 'verify', run: async () => failIfStuck(verifyProgress) },
    { name: 'master-key', run: async () => requireVersions(ctx) },
  ]
  const findFailing = {
    mint: makeReadiness(ctx, mintChecks),
    read: makeReadiness(ctx, [{ name: 'keys', run: signer.publicKeys }]),
  }
  const readChecks = async () => {
    const failing = new Set(await findFailing.mint())
    return mintChecks.map(({ name }) => ({ name, ok: !failing.has(name) }))
  }
  const measure = async () => {
    for (const { name, ok } of await readChecks()) ctx.metrics.ready.set({ check: name }, ok ? 1 : 0)
  }
  const pages: Page[] = [
    { path: '/livez', handler: async () => ({ mediaType: 'text/plain', text: 'alive\n' }) },
    {
      path: '/readyz',
      handler: async ({ query }) => {
        const state = readState()
        if (state !== 'serving') return { status: 503, mediaType: 'text/plain', text: `${state}\n` }
        const failing = await findFailing[query['for'] === 'read' ? 'read' : 'mint']()
        return failing.length === 0
          ? { mediaType: 'text/plain', text: 'ready\n' }
          : {
              status: 503,
              mediaType: 'text/plain',
              text: failing.map((name) => `not ready: the ${name} check failed\n`).join(''),
            }
      },
    },
  ]
  return { pages, readChecks, measure }
}
