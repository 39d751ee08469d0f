import { createHmac } from 'node:crypto'
import type { Ctx } from '../platform/ops/context.ts'
import type { Tx } from '../platform/db/db.ts'
import { mailOwnerOf } from './rules.ts'
import { deleteGrant, insertGrant, insertPlace } from './store.ts'

/** Queries of the agents module, passed in by the wiring. */
export type AgentLookup = {
  readonly isEmailConfirmed: (tx: Tx, agentId: string) => Promise<boolean>
  readonly findRegistrationOrigin: (
    tx: Tx,
    agentId: string,
  ) => Promise<{ readonly contactEmail: string; readonly networkTag: string } | undefined>
}

/**
 * Claims a place in the free plan for a live agent, if it is eligible and a place is left. All callers lock the grant,
 * then the mail place, then the network place, so that no two wait for each other.
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
  const { config } = ctx
  const mailTag = createHmac('sha256', ctx.secrets.derive('free-plan'))
    .update(mailOwnerOf(origin.contactEmail))
    .digest('base64url')
  const mail = { kind: 'mail', tag: mailTag, agentId, places: config.FREE_PLANS_PER_MAIL_DOMAIN } as const
  const network = {
    kind: 'network',
    tag: origin.networkTag,
    agentId,
    places: config.FREE_PLANS_PER_NETWORK,
  } as const
  const claimed = (await insertPlace(tx, mail)) && (!config.addressLimits || (await insertPlace(tx, network)))
  if (!claimed) await deleteGrant(tx, agentId)
  return claimed
}
