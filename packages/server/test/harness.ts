import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { after } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { Client, Pool } from 'pg'
import type { Mode } from '@pohf/protocol'
import { createDatabase } from '../dev/cluster.ts'
import { buildApp, buildContext, buildDuties } from '../src/app.ts'
import type { ExternalIssuer } from '../src/members/index.ts'
import { readConfig, readSignerConfig } from '../src/platform/config.ts'
import { makeLog } from '../src/platform/log.ts'
import * as signing from '../src/signing/index.ts'

export type Answered = {
  readonly status: number
  readonly headers: Record<string, string | undefined>
  readonly text: string
  // Tests look into answers freely; each looks at what it expects.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly json: any
}
export type Request = {
  readonly key?: string
  readonly body?: unknown
  readonly headers?: Record<string, string>
  readonly raw?: string
}

const clusterUrl = (database: string): string => {
  const cluster = process.env['POHF_TEST_CLUSTER']
  if (!cluster) throw new Error('run the tests by npm test: it starts PostgreSQL')
  return `${cluster}${database}`
}

/** A new database from the migrated template, and the way to drop it. */
export const makeDatabase = async (
  template = 'pohf_template',
): Promise<{ url: string; drop: () => Promise<void> }> => {
  const name = `t_${randomBytes(6).toString('hex')}`
  const url = await createDatabase({ url: clusterUrl }, name, template)
  const drop = async () => {
    const client = new Client({ connectionString: clusterUrl('postgres') })
    await client.connect()
    // A pool says it has ended before its connections have; one cut by the drop would fail a later test.
    for (let look = 0; look < 100; look++) {
      const { rowCount } = await client.query('select from pg_stat_activity where datname = $1', [name])
      if (rowCount === 0) break
      await setTimeout(10)
    }
    await client.query(`drop database if exists "${name}" with (force)`)
    await client.end()
  }
  return { url, drop }
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The whole server in this process, on its own database, with a clock that tests set. */
export const startHarness = async (
  environment: Record<string, string> = {},
  issuers: readonly ExternalIssuer[] = [],
) => {
  const { url, drop } = await makeDatabase()
  const dataDir = mkdtempSync(join(tmpdir(), 'pohf-data-'))
  const lines: string[] = []
  const log = makeLog(
    'info',
    new Writable({ write: (chunk: Buffer, _encoding, done) => (lines.push(chunk.toString()), done()) }),
  )
  const config = readConfig({
    DATABASE_URL: url,
    DATA_DIR: dataDir,
    DATABASE_POOL_SIZE: '20',
    // A hundred callers of one row on a busy machine: patience, so that a test sees the rule and not the load.
    DATABASE_WAIT_SECONDS: '60',
    ...environment,
  })
  let skewMs = 0
  const clock = { now: () => new Date(Date.now() + skewMs) }
  const ctx = buildContext({ config, log, name: 'pohf-test', clock })
  // The real signer over its real socket; only the process boundary is left out, and tests of that spawn it.
  const signerConfig = readSignerConfig({ DATA_DIR: dataDir, ...environment })
  const openSigner = async () => {
    const backend = signing.openBackend(signerConfig)
    const keyring = signing.openKeyring({ folder: config.KEYS_DIR, backend, clock })
    const server = await signing.listenAsSigner(
      keyring,
      { socketPath: config.SIGNER_SOCKET, mode: 0o600 },
      log,
    )
    const lines = new Set<Socket>()
    server.on('connection', (line: Socket) => {
      lines.add(line)
      line.on('close', () => lines.delete(line))
    })
    return { keyring, server, lines }
  }
  let signer: Awaited<ReturnType<typeof openSigner>> | undefined = await openSigner()
  const app = buildApp(ctx, issuers)
  await Promise.all([app.api.ready(), app.operator.ready(), app.start()])
  /** The owner's connection: for looking behind the program's back. */
  const owner = new Pool({ connectionString: url, max: 2 })
  // end() does not wait for the server's side, so dropping the database may still end a connection of this pool.
  owner.on('error', () => undefined)

  const send = async (
    listener: typeof app.api,
    method: string,
    path: string,
    request: Request,
  ): Promise<Answered> => {
    const payload = request.raw ?? (request.body === undefined ? undefined : JSON.stringify(request.body))
    const response = await listener.inject({
      method: method as 'GET',
      url: path,
      headers: {
        ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
        ...(request.key === undefined ? {} : { authorization: `Bearer ${request.key}` }),
        ...request.headers,
      },
      ...(payload === undefined ? {} : { payload }),
    })
    return {
      status: response.statusCode,
      headers: response.headers as Record<string, string>,
      text: response.body,
      json: parse(response.body),
    }
  }

  const harness = {
    ctx,
    app,
    owner,
    lines,
    dataDir,
    call: (method: string, path: string, request: Request = {}) => send(app.api, method, path, request),
    operate: (method: string, path: string, request: Request = {}) =>
      send(app.operator, method, path, request),
    register: async (mode: Mode = 'test', contactEmail = 'dev@example.com') => {
      const { json } = await harness.call('POST', '/api/agents/register', {
        body: { name: 'Test', contactEmail, mode },
      })
      return json as { apiKey: string; agentId: `agt_${string}`; mode: Mode }
    },
    /** Moves the time of the database and of the process, both by the same. */
    advance: async (ms: number) => {
      skewMs += ms
      await owner.query(
        `create or replace function pohf_now() returns timestamptz language sql stable parallel safe as $$ select transaction_timestamp() + interval '${skewMs} milliseconds' $$`,
      )
      await owner.query('select pohf_maintain_partitions()')
    },
    /** Runs every duty of the worker until none has work left. */
    work: async () => {
      const duties = buildDuties(ctx)
      for (let round = 0; round < 50; round++) {
        let taken = 0
        for (const duty of duties) taken += await duty.run()
        if (taken === 0) return
      }
      throw new Error('the worker does not come to rest')
    },
    /** The signer dies, and lives again on the same keys. */
    stopSigner: async () => {
      const stopped = signer
      signer = undefined
      if (!stopped) return
      for (const line of stopped.lines) line.destroy()
      await new Promise<void>((resolve) => stopped.server.close(() => resolve()))
      stopped.keyring.close()
    },
    startSigner: async () => {
      signer ??= await openSigner()
    },
    close: async () => {
      await Promise.all([app.api.close(), app.operator.close()])
      await harness.stopSigner()
      await ctx.db.pool.end()
      await owner.end()
      await drop()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
  after(() => harness.close())
  return harness
}
export type Harness = Awaited<ReturnType<typeof startHarness>>
