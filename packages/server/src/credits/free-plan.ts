import { createHmac } from 'node:crypto'
import type { Ctx } from '../platform/ops/context.ts'
import type { Tx } from '../platform/db/db.ts'
import { mailOwnerOf } from './rules.ts'
import { deleteGrant, insertGrant, insertPlace } from './store.ts'

/** What app.ts hands down from the agents module. */
export type AgentLookup = {
  readonly isEmailConfirmed: (tx: Tx, agentId: string) => Promise<boolean>
  readonly findRegistrationOrigin: (
    tx: Tx,
    agentId: string,
  ) => Promise<{ readonly contactEmail: string; readonly networkTag: string } | undefined>
}

/**
 * Takes a place in the free plan for a live agent, if it may have one and a place is left. Everyone takes the
 * grant, then the mail place, then the network place, so that two never wait for each other.
 */
export const claimFreePlan = async (
  tx: Tx,
  ctx: Pick<Ctx, 'config' | 'secrets'>,
  about: AgentLookup,
  agentId: string,
): Promise<boolean> => {
  if (!(await about.isEmailConfirmed(tx, agentId))) return false
  const origin = await about.findRegistrationOrigin(tx, agentId)
  if (!origin) return false
  // Somebody of the same agent was faster and has committed: it is held.
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
  const taken = (await insertPlace(tx, mail)) && (!config.addressLimits || (await insertPlace(tx, network)))
  if (!taken) await deleteGrant(tx, agentId)
  return taken
}
