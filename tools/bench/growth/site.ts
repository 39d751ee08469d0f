import { Client } from 'pg'
import { registerAgents, type Servers } from '../verify-fixture.ts'
import { seedSql } from '../verify-seed.ts'
import { makeOperations, type Operation } from './operations.ts'

/** How many calls are under way at a time. */
export const concurrency = 8

/** A running service with agents that have credits, and what they do. */
export type Site = {
  readonly servers: Servers
  readonly client: Client
  readonly operations: readonly Operation[]
  readonly owner: string
}

export const runAll = async (calls: readonly (() => Promise<void>)[]): Promise<void> => {
  const waiting = calls.values()
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      for (const call of waiting) await call()
    }),
  )
}

/** The first agent calls where only one does. */
export const openSite = async (servers: Servers): Promise<Site> => {
  const client = new Client({ connectionString: servers.databaseUrl })
  await client.connect()
  await client.query(`set "pohf.tenant" = 'system'`)
  const [port = 0] = servers.ports
  const agents = await registerAgents(port)
  for (const { agentId } of agents) await client.query(seedSql.balances, [agentId])
  const operations = makeOperations(`http://127.0.0.1:${port}`, client, agents)
  return { servers, client, operations, owner: agents[0]?.agentId ?? '' }
}
