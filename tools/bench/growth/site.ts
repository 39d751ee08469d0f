import { Client } from 'pg'
import { open } from '../../driver/closing.ts'
import { step } from '../../driver/program.ts'
import { registerAgents, startServers } from '../verify-fixture.ts'
import { seedSql } from '../verify-seed.ts'
import { makeOperations, type Operation } from './operations.ts'

/** How many calls are under way at a time. */
export const concurrency = 8

export const runAll = async (calls: readonly (() => Promise<void>)[]): Promise<void> => {
  const waiting = calls.values()
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      for (const call of waiting) await call()
    }),
  )
}

/** A running service with agents that have credits, and what they do. The first agent calls where only one does. */
export const openSite = (settings: Readonly<Record<string, string>> = {}) =>
  open(async (defer) => {
    const servers = await startServers([settings])
    defer(servers.close)
    const client = new Client({ connectionString: servers.databaseUrl })
    await client.connect()
    defer(() => client.end())
    await client.query(`set "pohf.tenant" = 'system'`)
    const [port = 0] = servers.ports
    step('making agents')
    const agents = await registerAgents(port)
    for (const { agentId } of agents) await client.query(seedSql.balances, [agentId])
    const operations: readonly Operation[] = makeOperations(`http://127.0.0.1:${port}`, client, agents)
    return { servers, client, operations, owner: agents[0]?.agentId ?? '' }
  })
export type Site = Awaited<ReturnType<typeof openSite>>
