import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction } from '../../platform/db/db.ts'
import { isPublicAddress } from '../../platform/net/outbound.ts'
import { addressLimitOf, agentLimitOf, type HostLimit } from '../rules.ts'
import { claimHost, updateEndpointWaiting, updateHostsReleased } from './hosts/store.ts'
import { outcomeOf, type AttemptResult } from './rules.ts'
import { updateClaimsReturned, type ClaimedDelivery } from './claims/store.ts'

/** Settling an attempt takes less than this. A worker that crashed keeps its host busy for the timeout plus this time. */
const settlingSeconds = 5

type Postponement = { readonly waitMs: number }
type Send = (options: {
  readonly timeoutMs: number
  readonly beforeConnect: (address: string) => Promise<void>
}) => Promise<AttemptResult>

/**
 * Sends an attempt to a receiver that has not answered 2xx yet: one at a time for each host, for all agents and workers
 * together, and one at a time for each agent and address. A failure counts for the host, for the agent at this host and
 * for the agent at this address.
 */
export const sendToUnproven = async (
  ctx: Ctx,
  claimed: ClaimedDelivery & { readonly hostLimit: HostLimit },
  timeoutMs: number,
  send: Send,
): Promise<AttemptResult | Postponement> => {
  const holder = `${claimed.deliveryId} ${claimed.attempt}`
  const seconds = timeoutMs / 1_000 + settlingSeconds
  const held: string[] = []
  const claim = async (limit: HostLimit): Promise<number> => {
    const waitMs = await inTransaction(ctx, 'system', (tx) => claimHost(tx, { ...limit, holder, seconds }))
    if (waitMs === 0) held.push(limit.host)
    return waitMs
  }
  const release = (failed: boolean): Promise<void> =>
    inTransaction(ctx, 'system', (tx) => updateHostsReleased(tx, held, { holder, failed }))

  for (const limit of [agentLimitOf(claimed.agentId, claimed.hostLimit), claimed.hostLimit]) {
    const waitMs = await claim(limit)
    if (waitMs === 0) continue
    await release(false)
    return { waitMs }
  }
  let addressWaitMs = 0
  let claimError: Error | undefined
  const beforeConnect = async (address: string): Promise<void> => {
    if (!isPublicAddress(address)) return
    try {
      addressWaitMs = await claim(addressLimitOf(claimed.agentId, address))
    } catch (error) {
      claimError = new Error(`address of delivery ${claimed.deliveryId} not claimed while sending it`, {
        cause: error,
      })
      throw claimError
    }
    if (addressWaitMs > 0)
      throw new Error(`address limit of agent ${claimed.agentId} reached by delivery ${claimed.deliveryId}`)
  }
  const result = await send({ timeoutMs, beforeConnect })
  const sent = claimError === undefined && addressWaitMs === 0
  await release(sent && outcomeOf(result.reply) !== 'delivered')
  if (claimError !== undefined) throw claimError
  return sent ? result : { waitMs: addressWaitMs }
}

/** Returns claims whose host is busy or has used up its failures. No attempt is counted. */
export const returnPostponed = (
  ctx: Ctx,
  claims: readonly ClaimedDelivery[],
  waitMs: number,
): Promise<void> =>
  inTransaction(ctx, 'system', async (tx) => {
    const inOrder = claims.toSorted((a, b) => (a.endpointId < b.endpointId ? -1 : 1))
    for (const claimed of inOrder) await updateEndpointWaiting(tx, claimed, waitMs)
    await updateClaimsReturned(tx, claims)
  })
