// What row-level security costs in a frequent statement: the same transaction with and without it, by pgbench.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cpuOfServers, runPgbench } from '../verify-fixture.ts'
import { makeSeeder } from '../verify-seed.ts'
import type { Site } from './site.ts'
import { inTurns } from '../../driver/rounds.ts'

const sessions = 2_000
const transactions = 4_000
const clients = 4

/** PostgreSQL CPU microseconds for each transaction. */
export type IsolationRound = { readonly isolated: number; readonly exempt: number }

const scriptOf = (
  role: string,
  agentId: string,
  prefix: string,
): string => `\\set n random(0, ${sessions - 1})
begin;
set local role ${role};
select set_config('pohf.tenant', '${agentId}', true);
select status, quality, verified, components from sessions
where agent_id = '${agentId}' and mode = 'live' and session_id = '${prefix}' || :n and at = (
  select at from session_claims where agent_id = '${agentId}' and mode = 'live' and session_id = '${prefix}' || :n);
commit;
`

const run = async ({ servers }: Site, script: string): Promise<number> => {
  const before = cpuOfServers(servers).pg
  await runPgbench(servers, [
    `--client=${clients}`,
    '--jobs=1',
    `--transactions=${transactions / clients}`,
    `--file=${script}`,
  ])
  return (cpuOfServers(servers).pg - before) / transactions
}

export const isolationCosts = async (site: Site, rounds: number): Promise<readonly IsolationRound[]> => {
  const { client, owner, servers } = site
  const prefix = await makeSeeder(client, 'present')([owner], sessions)
  await client.query('create role bench_exempt bypassrls in role pohf_app')
  const scriptFor = (role: string): string => {
    const file = join(servers.folder, `${role}.sql`)
    writeFileSync(file, scriptOf(role, owner, prefix))
    return file
  }
  const [isolated, exempt] = [scriptFor('pohf_app'), scriptFor('bench_exempt')]
  for (const script of [isolated, exempt]) await run(site, script)
  return inTurns(rounds, { isolated: () => run(site, isolated), exempt: () => run(site, exempt) })
}
