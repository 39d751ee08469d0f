import type { Tx } from '../../platform/db/db.ts'
import { listEnabledLocked, updateEndpointDisabled, type EndpointOwner } from './store.ts'

/** Disables every endpoint of an agent: nothing more is sent, also of what was waiting. Returns how many. */
export const disableAllEndpoints = async (tx: Tx, owner: EndpointOwner): Promise<number> => {
  const enabled = await listEnabledLocked(tx, owner)
  for (const { endpoint_id: endpointId } of enabled)
    await updateEndpointDisabled(tx, { agentId: owner.agentId, endpointId }, 'owner')
  return enabled.length
}
