import type { Mode } from '@pohf/protocol'
import { inTransaction, type Tx } from '../platform/db/db.ts'
import type { AccountPerson } from '../platform/http/call.ts'
import { Refusal } from '../platform/http/errors.ts'
import type { AccountsDeps } from './deps.ts'
import { findSessionTimes } from './sign-in/store.ts'
import { listAccountsOf, listInvitationsTo } from './people/store.ts'
import { findAccount, findIsInAccount, findUsedAgent } from './store.ts'

const claimableMax = 10

const usedAgent = async (deps: AccountsDeps, tx: Tx, accountId: string, mode: Mode) => {
  const id = await findUsedAgent(tx, accountId, mode)
  if (id === undefined) return null
  return { id, name: (await deps.findAgentName(tx, id)) ?? 'Suspended' }
}

/** What whoever registered an agent may still hold of it. */
const readHoldings = async (deps: AccountsDeps, tx: Tx, agent: { agentId: string; mode: Mode }) => {
  const keys = await deps.listUsableKeys(tx, agent.agentId)
  const urls = await deps.listWebhookUrls(tx, agent)
  const site = await deps.findSite(tx, agent.agentId)
  return {
    keys: keys.map((key) => ({
      hint: key.hint,
      createdAt: key.created_at.toISOString(),
      lastUsedAt: key.last_used_at?.toISOString() ?? null,
      expiresAt: key.expires_at?.toISOString() ?? null,
    })),
    webhookHosts: urls.map((url) => new URL(url).host),
    allowedOrigins: [...(site?.allowedOrigins ?? [])],
  }
}

/** Agents that the person may take into an account. */
const listClaimable = async (deps: AccountsDeps, tx: Tx, { role, email }: AccountPerson) => {
  if (role !== 'owner') return []
  const claimable = []
  for (const agent of await deps.listConfirmedAgents(tx, email, claimableMax)) {
    if (await findIsInAccount(tx, agent.agent_id)) continue
    const { agent_id: id, name, mode, created_at: createdAt } = agent
    const holdings = await readHoldings(deps, tx, { agentId: id, mode })
    claimable.push({ id, name, mode, createdAt: createdAt.toISOString(), ...holdings })
  }
  return claimable
}

export const account = async (deps: AccountsDeps, person: AccountPerson) =>
  inTransaction(deps.ctx, 'system', async (tx) => {
    const { accountId, personId, sessionId, email, role } = person
    const found = await findAccount(tx, accountId)
    const session = await findSessionTimes(tx, sessionId)
    if (!found || !session) throw new Refusal('sign_in_required')
    const accounts = await listAccountsOf(tx, personId)
    const invitations = await listInvitationsTo(tx, email)
    return {
      account: { id: accountId, name: found.name, createdAt: found.created_at.toISOString() },
      person: { id: personId, email, role },
      agents: {
        live: await usedAgent(deps, tx, accountId, 'live'),
        test: await usedAgent(deps, tx, accountId, 'test'),
      },
      session: {
        id: sessionId,
        expiresAt: session.expires_at.toISOString(),
        recentUntil: session.recent_until.toISOString(),
      },
      accounts: accounts.map((row) => ({ id: row.account_id, name: row.name, role: row.role })),
      invitations: invitations.map((row) => ({
        accountId: row.account_id,
        accountName: row.name,
        invitedBy: row.inviter,
        role: row.role,
      })),
      claimable: await listClaimable(deps, tx, person),
    }
  })
