import type { Mode } from '@pohf/protocol'
import type { Tx } from '../platform/db/db.ts'
import type { Agent } from '../platform/http/call.ts'
import { Refusal } from '../platform/http/errors.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { findCaller, insertAgent } from './store.ts'

/** Creates an agent for a trusted-agent credential. It has no key and no confirmed address, so nobody can recover one for it. */
export const addKeylessAgent = async (
  tx: Tx,
  ctx: Ctx,
  { mode, name }: { readonly mode: Mode; readonly name: string },
): Promise<string> => {
  const agentId = ctx.ids.make('agt_')
  await insertAgent(tx, {
    agentId,
    mode,
    name,
    contactEmail: 'keyless@localhost',
    mailDomain: 'localhost',
    networkTag: 'keyless',
    wideNetworkTag: null,
  })
  return agentId
}

/** The agent as a caller, which may order and nothing else. Refuses one that an operator suspended. */
export const findKeylessCaller = async (tx: Tx, agentId: string, keyId: string): Promise<Agent> => {
  const row = await findCaller(tx, agentId)
  if (!row || row.suspended_at !== null)
    throw new Refusal('untrusted_agent', { message: 'This agent is suspended. Contact the operator.' })
  return {
    agentId: row.agent_id as Agent['agentId'],
    mode: row.mode,
    keyId,
    scopes: ['work'],
    ratePerMinute: row.rate_per_minute,
    policy: row.policy,
  }
}
