import type { Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction, type Tx } from '../../platform/db/db.ts'
import { normaliseUrl } from '../rules.ts'
import { describeOne, unknownEndpoint } from './describe.ts'
import { checkUrl, checkEndpointLimit } from './register.ts'
import {
  findEndpointLocked,
  updateEndpoint,
  updateEndpointDisabled,
  updateEndpointEnabled,
  type EndpointKey,
} from './store.ts'

type Change = {
  readonly webhookId: string
  readonly url?: string | undefined
  readonly events?: readonly string[] | undefined
  readonly enabled?: boolean | undefined
}

const setEnabled = async (tx: Tx, key: EndpointKey, state: string, enabled: boolean | undefined) => {
  if (enabled === true && state === 'disabled') {
    await checkEndpointLimit(tx, key.agentId)
    await updateEndpointEnabled(tx, key)
  }
  if (enabled === false && state === 'enabled') await updateEndpointDisabled(tx, key, 'owner')
}

/** Changes an endpoint. Events published while it is disabled are not queued; a recovery sends them later. */
export const update = async (ctx: Ctx, agent: Agent, change: Change) => {
  if (change.url !== undefined) checkUrl(ctx, change.url)
  const key = { agentId: agent.agentId, endpointId: change.webhookId }
  return inTransaction(ctx, agent.agentId, async (tx) => {
    const endpoint = await findEndpointLocked(tx, agent, change.webhookId)
    if (!endpoint) throw unknownEndpoint()
    const url = change.url === undefined ? endpoint.url : normaliseUrl(change.url)
    await updateEndpoint(tx, key, {
      // An unchanged URL is left out: setting it would reset the failures and so close the circuit breaker.
      ...(url === endpoint.url ? {} : { url }),
      ...(change.events === undefined ? {} : { events: [...new Set(change.events)] }),
    })
    await setEnabled(tx, key, endpoint.state, change.enabled)
    return describeOne(tx, agent, change.webhookId)
  })
}
