import type { FastifyInstance, FastifyRequest } from 'fastify'
import { usualBodyLimitBytes, type Endpoint } from '@pohf/protocol'
import { healthPaths } from './http-close.ts'
import type { RateLimits } from './rate-limits.ts'
import { answerCostMs, bodyCostMs, failedKeyMs, rowCostMs } from './row-costs.ts'

const bearerAuths: ReadonlySet<Endpoint['auth']> = new Set([
  'bearer',
  'optional',
  'licensed',
  'order',
  'operator',
])

/** Whether the call shows a key that its row reads. Whether the key is valid is known later. */
const showsKey = ({ routeOptions, headers }: FastifyRequest): boolean => {
  const auth = routeOptions.config.endpoint?.auth
  return (
    auth === 'secret' || (auth !== undefined && bearerAuths.has(auth) && headers.authorization !== undefined)
  )
}

/** Lets every call without a key spend from the budget of its network, before anything else is done for it. */
export const addCostBudget = (
  app: FastifyInstance,
  { costBudget: budget }: Pick<RateLimits, 'costBudget'>,
): void => {
  /** What the last answer of each route cost by its length: known only afterwards, so the next call pays it in advance. */
  const answerCosts = new Map<string, number>()
  const paidInAdvance = new WeakMap<FastifyRequest, number>()
  app.addHook('onRequest', async (request) => {
    const { client, headers, routeOptions } = request
    const { endpoint } = routeOptions.config
    const answerMs = answerCosts.get(routeOptions.url ?? '') ?? 0
    const costMs =
      rowCostMs(endpoint) + bodyCostMs(headers, endpoint?.bodyLimitBytes ?? usualBodyLimitBytes) + answerMs
    if (healthPaths.has(routeOptions.url)) return budget.space(client, costMs)
    if (showsKey(request)) return
    await budget.admit(client, costMs)
    paidInAdvance.set(request, answerMs)
  })
  app.addHook('onResponse', async (request, reply) => {
    const { client, agent, operator, routeOptions } = request
    if (agent || operator) return
    const answerMs = answerCostMs(reply.getHeader('content-length'))
    const paidMs = paidInAdvance.get(request)
    if (paidMs !== undefined) answerCosts.set(routeOptions.url ?? '', answerMs)
    budget.charge(client, answerMs - (paidMs ?? 0))
  })
}

/** Authenticates a call. One that shows a key which is not valid has none, and spends as such before it is refused. */
export const spendUnlessKey = async (
  { costBudget }: Pick<RateLimits, 'costBudget'>,
  request: FastifyRequest,
  authenticate: () => Promise<void>,
): Promise<void> => {
  try {
    await authenticate()
  } catch (error) {
    if (showsKey(request) && !request.agent && !request.operator)
      await costBudget.admit(request.client, failedKeyMs)
    throw error
  }
}
