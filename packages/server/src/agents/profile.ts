import { attestationSettings } from '@pohf/protocol'
import type { Agent } from '../platform/http/call.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { inTransaction, type Tx } from '../platform/db/db.ts'
import { Refusal } from '../platform/http/errors.ts'
import { findAgent } from './store.ts'

/** Reads the agent's profile. */
export const readProfile = async (tx: Tx, { config }: Pick<Ctx, 'config'>, agentId: string) => {
  const row = await findAgent(tx, agentId)
  if (!row) throw new Refusal('not_found')
  return {
    agentId: row.agent_id,
    name: row.name,
    mode: row.mode,
    contactEmail: row.contact_email,
    emailConfirmedAt: row.email_confirmed_at?.toISOString() ?? null,
    allowedOrigins: row.allowed_origins,
    attestation: attestationSettings.parse(row.attestation),
    policy: row.policy,
    createdAt: row.created_at.toISOString(),
    demo: config.DEMO_DATA === 'true',
  }
}

export const profile = async (ctx: Ctx, agent: Agent) =>
  inTransaction(ctx, agent.agentId, (tx) => readProfile(tx, ctx, agent.agentId))
