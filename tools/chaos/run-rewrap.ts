// Rotates the master key under load while the rewrap, the api and the worker are killed, then opens everything with both keys.
import { cpSync, mkdirSync } from 'node:fs'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Client } from 'pg'
import { loadSecrets, type Secrets } from '../../packages/server/src/platform/ops/secrets.ts'
import { sealedColumns } from '../../packages/server/src/wiring/index.ts'
import { waitForExit } from '../../packages/server/test/fixtures/processes/restarts.ts'
import { closingAfter } from '../driver/closing.ts'
import { runProgram, step } from '../driver/program.ts'
import { tableOfFigures } from '../driver/report.ts'
import { randomFrom } from '../driver/rounds.ts'
import { openService, waitUntilReady, withDatabase } from '../driver/service.ts'
import { waitForDeliveries } from './verify-load/audit.ts'
import { networkSettings, openReceiver, seedAgents } from './verify-load/calls.ts'
import { newRecord, startLoad } from './verify-load/load.ts'

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

const seedKeys = async (client: Client, secrets: Secrets, rows: number): Promise<void> => {
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

type RewrapOptions = { readonly rows: number; readonly kills: number; readonly seed: number }
const rewrapMsMax = 600_000

const rotateUnderLoad = (options: RewrapOptions) =>
  closingAfter(async (defer) => {
    const { rows } = options
    const receiver = await openReceiver()
    defer(receiver.close)
    const service = await openService({
      name: 'rewrap',
      roles: ['signer', 'api', 'worker'],
      postgres: { max_connections: '60' },
      settings: networkSettings,
    })
    defer(service.close)
    const { folder, baseUrl, databaseUrl, env, processes } = service
    const before = loadSecrets(env.DATA_DIR)
    mkdirSync(join(folder, 'old'), { mode: 0o700 })
    cpSync(join(env.DATA_DIR, 'master.key'), join(folder, 'old', 'master.key'))
    const webhookUrl = receiver.url
    const agents = await seedAgents({ baseUrl, databaseUrl, sessions: 20_000, networks: 1_000, webhookUrl })
    await withDatabase(databaseUrl, (client) => seedKeys(client, before, rows))
    const record = newRecord()
    const load = startLoad([baseUrl], agents, record, {
      clients: 4,
      random: randomFrom(options.seed),
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
      step(`rewrap, after ${kills.rewrap} kills`)
      const command = startCommand(['rewrap'], env)
      if (kills.rewrap < options.kills) {
        await waitForRows(databaseUrl)
        command.kill()
        kills.rewrap += 1
        if (kills.rewrap % 3 === 1) kills.api += Number(processes.api.kill())
        if (kills.rewrap % 3 === 2) kills.worker += Number(processes.worker.kill())
        await command.ended
      } else isDone = (await command.ended) === 0
      if (performance.now() - startedAt > rewrapMsMax)
        throw new Error('the rewrap did not end within 10 minutes')
    }
    const rewrapSeconds = Math.round((performance.now() - startedAt) / 1_000)
    await run(['master', 'retire', '--at-once'], env)
    await waitUntilReady(baseUrl)
    await load.stop(120_000)
    step('opening everything with both keys')
    const old = loadSecrets(join(folder, 'old'))
    const now = loadSecrets(env.DATA_DIR)
    const { byOld, byNew, events } = await withDatabase(databaseUrl, async (client) => ({
      byOld: await countOpened(client, old),
      byNew: await countOpened(client, now),
      events: (
        await client.query<{ id: string }>(
          "select event_id as id from events where type = 'credential.issued'",
        )
      ).rows.map(({ id }) => id),
    }))
    return {
      rows,
      kills: kills.rewrap + kills.api + kills.worker,
      rewrapKills: kills.rewrap,
      rewrapSeconds,
      acknowledged: record.acknowledged.size,
      values: byNew.values,
      openedByOld: byOld.opened,
      unopenedByNew: byNew.values - byNew.opened,
      changed: rows - byNew.same,
      keptChanged: [...old.keyring.keptFingerprints()].filter(
        ([purpose, fingerprint]) => now.keyring.keptFingerprints().get(purpose) !== fingerprint,
      ).length,
      undelivered: await waitForDeliveries(events, receiver.received, 90_000),
      loadFaults: load.faults.length,
    }
  })

await runProgram({
  command: 'battery -- rewrap',
  title: 'Rotation of the master key under load, with kills',
  about:
    'Each `rewrap` but the last is killed while it reads rows, with the api or the worker. Afterwards the old key opens nothing, the new key opens everything, and what must not change has not changed.',
  options: { rows: 20_000, kills: 6, seed: 1 },
  minutes: ({ kills }) => 25 + 3 * kills,
  run: async (options) => {
    const figures = await rotateUnderLoad(options)
    const mustBeZero = [
      'openedByOld',
      'unopenedByNew',
      'changed',
      'keptChanged',
      'undelivered',
      'loadFaults',
    ] as const
    return {
      figures,
      tables: [tableOfFigures(figures)],
      faults: [
        ...mustBeZero.filter((name) => figures[name] !== 0).map((name) => `${name}: ${figures[name]}`),
        ...(figures.acknowledged > 0 && figures.rewrapKills >= options.kills
          ? []
          : ['too few kills, or nothing was acknowledged: this says nothing']),
      ],
      holds: 'everything moved, and the old key opens nothing',
    }
  },
})
