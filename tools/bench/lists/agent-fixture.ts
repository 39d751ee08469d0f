import { Client } from 'pg'
import { scopes } from '@pohf/protocol'
import { makeIds } from '../../../packages/server/src/platform/ops/ids.ts'
import { hashKey, makeKey } from '../../../packages/server/src/platform/ops/keys.ts'
import { openApi } from '../../driver/api.ts'
import { open } from '../../driver/closing.ts'

const dayMs = 86_400_000

/** An agent that is older than its rows, because a list ends where its agent began. Without a signer nobody can register. */
const insertAgent = async (owner: Client, cell: string) => {
  const agentId = makeIds(cell, { now: () => new Date(Date.now() - 90 * dayMs) }).make('agt_')
  const apiKey = makeKey('svc_live_', cell)
  await owner.query(
    `insert into agents (agent_id, mode, name, contact_email, mail_domain, network_tag, rate_per_minute)
     values ($1, 'live', 'Bench', 'bench@example.com', 'example.com', 'bench', 1000000)`,
    [agentId],
  )
  await owner.query(
    `insert into api_keys (agent_id, key_id, hint, scopes) values ($1, 'key_bench', 'none', $2)`,
    [agentId, [...scopes]],
  )
  await owner.query(`insert into api_key_hashes (key_hash, agent_id, key_id) values ($1, $2, 'key_bench')`, [
    hashKey(apiKey),
    agentId,
  ])
  return { agentId, apiKey }
}

/** An api in this process and a database of its own, with one agent. */
export const openAgentFixture = (settings: Readonly<Record<string, string>>) =>
  open(async (defer) => {
    const { api, config, ctx, databaseUrl, postgres, close } = await openApi('bench', settings)
    defer(close)
    const owner = new Client({ connectionString: databaseUrl })
    await owner.connect()
    defer(() => owner.end())
    const { agentId, apiKey } = await insertAgent(owner, config.CELL)
    return {
      agentId,
      ctx,
      owner,
      postmaster: postgres.pid(),
      get: async (path: string) => {
        const answer = await api.inject({ url: path, headers: { authorization: `Bearer ${apiKey}` } })
        if (answer.statusCode !== 200)
          throw new Error(`GET ${path} answered ${answer.statusCode}: ${answer.body}`)
        return answer.json<Record<string, unknown>>()
      },
    }
  })
export type AgentFixture = Awaited<ReturnType<typeof openAgentFixture>>
