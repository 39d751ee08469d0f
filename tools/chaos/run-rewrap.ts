// Rotates the master key under load while the rewrap, the api and the worker are killed, then opens everything with both keys.
// node tools/chaos/run-rewrap.ts [--rows 20000 --kills 6 --seed 1 --json]
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { spawn } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Client } from 'pg'
import { loadSecrets, type Secrets } from '../../packages/server/src/platform/ops/secrets.ts'
import { sealedColumns } from '../../packages/server/src/wiring/index.ts'
import { waitForExit, waitUntilReady } from '../../packages/server/test/fixtures/processes/restarts.ts'
import { openPostgres } from './restarting-postgres.ts'
import { prepareServer, randomFrom, startRole } from './server-processes.ts'
import { waitForDeliveries, withDatabase } from './verify-load/audit.ts'
import {
  networkSettings,
  openReceiver,
  seedAgents,
  seedNetworks,
  subscribeAgents,
} from './verify-load/calls.ts'
import { newRecord, startLoad } from './verify-load/load.ts'

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '20000' },
    kills: { type: 'string', default: '6' },
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
  },
})
const rows = Number(values.rows)
const random = randomFrom(Number(values.seed))
const cli = fileURLToPath(new URL('../../packages/cli/src/main.ts', import.meta.url))

/** A command of an operator: `kill` ends it by force. */
const startCommand = (parameters: readonly string[], env: NodeJS.ProcessEnv) => {
  const child = spawn(process.execPath, [cli, 'keys', ...parameters], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  return {
    kill: () => child.kill('SIGKILL'),
    ended: waitForExit(child).then(() => child.exitCode),
  }
}
const run = async (parameters: readonly string[], env: NodeJS.ProcessEnv): Promise<void> => {
  const code = await startCommand(parameters, env).ended
  if (code !== 0) throw new Error(`pohf keys ${parameters.join(' ')} ended with ${code}`)
}

const seedKeys = async (client: Client, secrets: Secrets): Promise<void> => {
  const ids = Array.from({ length: rows }, (_, index) => `ses_${String(index).padStart(9, '0')}`)
  await client.query(
    `insert into session_keys (agent_id, session_id, sealed)
     select 'agt_rewrap', id, sealed from unnest($1::text[], $2::text[]) given(id, sealed)`,
    [ids, ids.map((id) => secrets.seal('session-key', id))],
  )
}

/** Waits until a rewrap reads rows, for at most two minutes: a kill then interrupts a page. */
const waitForRows = (databaseUrl: string): Promise<void> =>
  withDatabase(databaseUrl, async (client) => {
    const read = async () => {
      const found = await client.query<{ sum: string }>(
        'select coalesce(sum(read_rows), 0)::text as sum from platform_rewraps',
      )
      return found.rows[0]?.sum
    }
    const before = await read()
    const deadline = performance.now() + 120_000
    while ((await read()) === before && performance.now() < deadline) await setTimeout(20)
  })

/** A start on a busy machine takes longer than a minute. */
const waitForStart = (baseUrl: string): Promise<void> =>
  waitUntilReady(baseUrl).catch(() => waitUntilReady(baseUrl))

/** How many stored values a key opens, and how many keys of sessions are what they were. */
const countOpened = async (client: Client, secrets: Secrets) => {
  const counts = { values: 0, opened: 0, same: 0 }
  for (const { purpose, table, column, field } of sealedColumns) {
    const value = field ? `payload ->> '${field.name}'` : column
    const only = field ? `and topic in (${field.topics.map((topic) => `'${topic}'`).join()})` : ''
    const id = table === 'session_keys' ? 'session_id' : `''`
    const found = await client.query<{ id: string; sealed: string }>(
      `select ${id} as id, ${value} as sealed from ${table} where ${value} <> '' ${only}`,
    )
    for (const { id: sessionId, sealed } of found.rows) {
      counts.values += 1
      try {
        const text = secrets.open(purpose, sealed)
        counts.opened += 1
        if (text === sessionId) counts.same += 1
      } catch {
        // Sealed under another version.
      }
    }
  }
  return counts
}

const folder = mkdtempSync(join(tmpdir(), 'pohf-rewrap-'))
const postgres = await openPostgres({ folder, settings: { max_connections: '60' } })
const receiver = await openReceiver()
const { baseUrl, databaseUrl, env } = await prepareServer(postgres, folder, networkSettings)
const processes = {
  signer: startRole('signer', env),
  api: startRole('api', env),
  worker: startRole('worker', env),
}
try {
  await waitForStart(baseUrl)
  const before = loadSecrets(env.DATA_DIR)
  mkdirSync(join(folder, 'old'), { mode: 0o700 })
  cpSync(join(env.DATA_DIR, 'master.key'), join(folder, 'old', 'master.key'))
  const agents = await withDatabase(databaseUrl, async (client) => {
    const seeded = await seedAgents(baseUrl, client, 20_000)
    await seedNetworks(client, 1_000)
    await seedKeys(client, before)
    return seeded
  })
  await subscribeAgents(baseUrl, agents, receiver.url)
  const record = newRecord()
  const load = startLoad([baseUrl], agents, record, {
    clients: 4,
    random,
    twice: 0.2,
    idempotencyKeys: false,
    pauseMs: 20,
    timeoutMs: 15_000,
  })
  await run(['master', 'add'], env)
  const kills = { rewrap: 0, api: 0, worker: 0 }
  const startedAt = performance.now()
  let isDone = false
  while (!isDone) {
    const command = startCommand(['rewrap'], env)
    if (kills.rewrap < Number(values.kills)) {
      await waitForRows(databaseUrl)
      command.kill()
      kills.rewrap += 1
      if (kills.rewrap % 3 === 1) kills.api += Number(processes.api.kill())
      if (kills.rewrap % 3 === 2) kills.worker += Number(processes.worker.kill())
      await command.ended
    } else isDone = (await command.ended) === 0
    if (performance.now() - startedAt > 600_000) throw new Error('the rewrap did not end within 10 minutes')
  }
  const rewrapSeconds = Math.round((performance.now() - startedAt) / 1_000)
  await run(['master', 'retire', '--at-once'], env)
  await waitForStart(baseUrl)
  await load.stop(120_000)
  const old = loadSecrets(join(folder, 'old'))
  const now = loadSecrets(env.DATA_DIR)
  const { byOld, byNew, events } = await withDatabase(databaseUrl, async (client) => ({
    byOld: await countOpened(client, old),
    byNew: await countOpened(client, now),
    events: (
      await client.query<{ id: string }>("select event_id as id from events where type = 'credential.issued'")
    ).rows.map(({ id }) => id),
  }))
  const undelivered = await waitForDeliveries(events, receiver.received, 90_000)
  const findings = {
    rows,
    kills: kills.rewrap + kills.api + kills.worker,
    rewrapSeconds,
    acknowledged: record.acknowledged.size,
    values: byNew.values,
    openedByOld: byOld.opened,
    unopenedByNew: byNew.values - byNew.opened,
    changed: rows - byNew.same,
    keptChanged: [...old.keyring.keptFingerprints()].filter(
      ([purpose, fingerprint]) => now.keyring.keptFingerprints().get(purpose) !== fingerprint,
    ).length,
    undelivered,
    loadFaults: load.faults.length,
  }
  const { openedByOld, unopenedByNew, changed, keptChanged, loadFaults } = findings
  const allMoved =
    openedByOld + unopenedByNew + changed + keptChanged + undelivered + loadFaults === 0 &&
    findings.acknowledged > 0 &&
    kills.rewrap >= Number(values.kills)
  if (values.json) console.log(JSON.stringify(findings))
  else {
    console.table(findings)
    console.log(allMoved ? '✓ everything moved, and the old key opens nothing' : '✗ it does not add up')
  }
  if (!allMoved) process.exitCode = 1
} finally {
  for (const each of Object.values(processes)) await each.stop()
  receiver.close()
  await postgres.stop()
  rmSync(folder, { recursive: true, force: true })
}
