import type { Ctx } from '../platform/ops/context.ts'
import type { Tx } from '../platform/db/db.ts'
import { mailOwnerOf } from '../platform/net/mail-address.ts'
import { deleteGrant, insertGrant, insertPlace, updateMonthGranted, type FreePlanPlace } from './store.ts'
import { hmacOf } from '../platform/ops/secrets.ts'

/** What the caps count of a registration. */
type Registration = {
  readonly contactEmail: string
  readonly networkTag: string
  readonly wideNetworkTag: string | null
}

/** Queries of the agents module, passed in by the wiring. */
export type AgentLookup = {
  readonly isEmailConfirmed: (tx: Tx, agentId: string) => Promise<boolean>
  readonly findRegistrationOrigin: (tx: Tx, agentId: string) => Promise<Registration | undefined>
}

/** The places that an agent needs, in the order in which every caller locks them. */
const placesOf = ({ config, secrets }: Pick<Ctx, 'config' | 'secrets'>, origin: Registration) => {
  const mailTag = hmacOf(secrets.derive('free-plan'))
    .update(mailOwnerOf(origin.contactEmail))
    .digest('base64url')
  const places: FreePlanPlace[] = [{ kind: 'mail', tag: mailTag, places: config.FREE_PLANS_PER_MAIL_DOMAIN }]
  if (!config.addressLimits) return places
  places.push({ kind: 'network', tag: origin.networkTag, places: config.FREE_PLANS_PER_NETWORK })
  if (origin.wideNetworkTag !== null)
    places.push({
      kind: 'wide_network',
      tag: origin.wideNetworkTag,
      places: config.FREE_PLANS_PER_WIDE_NETWORK,
    })
  return places
}

/**
 * Claims a place in the free plan for a live agent, if it is eligible and a place is left. All callers lock the grant,
 * then the places, then the month, so that no two wait for each other.
 */
export const claimFreePlan = async (
  tx: Tx,
  ctx: Pick<Ctx, 'config' | 'secrets'>,
  agents: AgentLookup,
  agentId: string,
): Promise<boolean> => {
  if (!(await agents.isEmailConfirmed(tx, agentId))) return false
  const origin = await agents.findRegistrationOrigin(tx, agentId)
  if (!origin) return false
  // A concurrent call of the same agent has committed the grant.
  if (!(await insertGrant(tx, agentId))) return true
  for (const place of placesOf(ctx, origin)) {
    if (await insertPlace(tx, agentId, place)) continue
    await deleteGrant(tx, agentId)
    return false
  }
  if (await updateMonthGranted(tx, ctx.config.FREE_PLANS_PER_MONTH)) return true
  await deleteGrant(tx, agentId)
  return false
}
