import { inTransaction, type Tx } from '../platform/db/db.ts'
import type { AccountPerson } from '../platform/http/call.ts'
import { Refusal } from '../platform/http/errors.ts'
import type { AccountsDeps } from './deps.ts'
import { requireOwner } from './people/require-owner.ts'
import { agentsMax } from './rules.ts'
import { countAccountAgents, insertAccountAgent, updateAgentUsed } from './store.ts'

/** How many agents of one address are searched, newest first. An older agent cannot be claimed. */
const agentsOfAddressMax = 100

/** The agent, where it is registered with the address that the person proved by the link of this sign-in. */
const findOwnAgent = async (deps: AccountsDeps, tx: Tx, email: string, agentId: string) => {
  const own = await deps.listConfirmedAgents(tx, email, agentsOfAddressMax)
  return own.find((agent) => agent.agent_id === agentId)
}

type Claim = { readonly agentId: string; readonly keepKeys: boolean }

/**
 * Makes the console use this agent for its mode. The agent is one of the account's, or one that was registered by API with
 * the caller's confirmed address and belongs to no account. Anybody may have registered it with that address, so a claim
 * revokes its keys and disables its webhooks unless the caller keeps them. The agent used so far stays in the account.
 */
export const claim = async (deps: AccountsDeps, person: AccountPerson, { agentId, keepKeys }: Claim) =>
  inTransaction(deps.ctx, 'system', async (tx) => {
    const { accountId, email } = person
    await requireOwner(tx, person)
    const known = await updateAgentUsed(tx, accountId, agentId)
    if (known !== undefined) return { agentId, mode: known, revokedKeys: 0, disabledWebhooks: 0 }
    // A passkey does not prove the address: its owner may have lost the mailbox since the passkey was created.
    if (person.signedInBy !== 'link')
      throw new Refusal('sign_in_again', {
        message: 'Sign in with a mailed link to claim an agent. The link proves that the address is yours.',
      })
    const agent = await findOwnAgent(deps, tx, email, agentId)
    if (agent && (await countAccountAgents(tx, accountId)) >= agentsMax)
      throw new Refusal('forbidden', { message: `An account has at most ${agentsMax} agents.` })
    if (!agent || !(await insertAccountAgent(tx, { agentId, accountId, mode: agent.mode })))
      throw new Refusal('not_found', {
        message:
          'No agent without an account has this id and your confirmed address. Confirm the address of the agent first.',
      })
    const { mode } = agent
    return {
      agentId,
      mode,
      revokedKeys: keepKeys ? 0 : await deps.revokeAllKeys(tx, { agentId, mode }),
      disabledWebhooks: keepKeys ? 0 : await deps.disableAllWebhooks(tx, { agentId, mode }),
    }
  })
