import type { Agent } from '../platform/call.ts'
import type { Ctx } from '../platform/context.ts'
import { inTransaction } from '../platform/db.ts'
import { Refusal } from '../platform/errors.ts'
import { endpointsMax, secretOf, urlFault } from './rules.ts'
import { countEnabledEndpoints, insertEndpoint } from './store.ts'

type Registration = { readonly url: string; readonly events: readonly string[] }

/** Subscribes a URL to events. Its secret is shown here and nowhere again. */
export const register = async (ctx: Ctx, agent: Agent, input: Registration) => {
  const fault = urlFault(input.url, ctx.config.loopback)
  if (fault !== undefined)
    throw new Refusal('validation_failed', {
      details: [{ path: 'body.url', code: 'invalid', message: fault }],
    })
  const id = ctx.ids.make('whk_')
  const signingSecret = secretOf(Buffer.from(ctx.ids.token(), 'base64url'))
  await inTransaction(ctx, agent.agentId, async (tx) => {
    if ((await countEnabledEndpoints(tx, agent.agentId)) >= endpointsMax)
      throw new Refusal('forbidden', { message: `An agent has at most ${endpointsMax} webhook endpoints.` })
    await insertEndpoint(tx, {
      agentId: agent.agentId,
      mode: agent.mode,
      endpointId: id,
      // As the URL parser writes it: plain ASCII, whatever was sent.
      url: new URL(input.url).href,
      events: [...new Set(input.events)],
      secretSealed: ctx.secrets.seal('webhook', signingSecret),
    })
  })
  return { id, signingSecret }
}
