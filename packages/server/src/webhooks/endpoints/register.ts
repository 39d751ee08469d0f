import type { Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { Refusal } from '../../platform/http/errors.ts'
import { endpointsMax, formatSecret, normaliseUrl, storedEndpointsMax, urlFault } from '../rules.ts'
import { countEndpoints, insertEndpoint } from './store.ts'

type Registration = { readonly url: string; readonly events: readonly string[] }

export const checkUrl = (ctx: Ctx, url: string): void => {
  const fault = urlFault(url, ctx.config.loopback)
  if (fault !== undefined)
    throw new Refusal('validation_failed', {
      details: [{ path: 'body.url', code: 'invalid', message: fault }],
    })
}

const refuseEnabledEndpoint = () =>
  new Refusal('forbidden', { message: `An agent has at most ${endpointsMax} enabled webhook endpoints.` })

/** Before a stored endpoint is enabled. */
export const checkEndpointLimit = async (tx: Tx, agentId: string): Promise<void> => {
  const { enabled } = await countEndpoints(tx, agentId)
  if (enabled >= endpointsMax) throw refuseEnabledEndpoint()
}

const checkNewEndpoint = async (tx: Tx, agentId: string): Promise<void> => {
  const { enabled, stored } = await countEndpoints(tx, agentId)
  if (enabled >= endpointsMax) throw refuseEnabledEndpoint()
  if (stored >= storedEndpointsMax)
    throw new Refusal('forbidden', {
      message: `An agent has at most ${storedEndpointsMax} webhook endpoints, disabled ones included: delete one first.`,
    })
}

export const newSecret = (ctx: Ctx): string => formatSecret(Buffer.from(ctx.ids.random(), 'base64url'))

/** Subscribes a URL to events. Its secret is returned here only. */
export const register = async (ctx: Ctx, agent: Agent, input: Registration) => {
  checkUrl(ctx, input.url)
  const id = ctx.ids.make('whk_')
  const signingSecret = newSecret(ctx)
  await inTransaction(ctx, agent.agentId, async (tx) => {
    await checkNewEndpoint(tx, agent.agentId)
    await insertEndpoint(tx, {
      agentId: agent.agentId,
      mode: agent.mode,
      endpointId: id,
      url: normaliseUrl(input.url),
      events: [...new Set(input.events)],
      secretSealed: ctx.secrets.seal('webhook', signingSecret),
    })
  })
  return { id, signingSecret }
}
