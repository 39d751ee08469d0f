import { existsSync, openSync, closeSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { Client } from 'pg'
import { childrenOf } from '../../../packages/server/test/fixtures/processes/child-processes.ts'
import { nothingToEnd, requireTrue, type ActiveFault, type InjectedFault } from '../verify-load/faults.ts'
import { bounds } from './judgement.ts'
import { writeClockOffset, type Deployment, type DeploymentKind } from './deployment.ts'
import { withDatabase } from '../../driver/service.ts'

export type FaultScenario = InjectedFault<Deployment> & {
  readonly deployment: DeploymentKind
  /** Nothing has to be repaired: it is over when it has begun, and the server has to recover by itself. */
  readonly isMomentary?: true
  /**
   * Credentials expire by the clock as it jumps ahead, or back to the present from behind, and so do idempotency keys. Verify
   * then mints another one for the session. Calls are not sent twice: the second would be a renewal.
   */
  readonly outlivesCredentials?: true
}

/** An error code is the proof; no error means that the fault does not take place. */
const codeOfFailure = async (work: () => Promise<unknown>): Promise<string> => {
  try {
    await work()
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error)
  }
  throw new Error('the fault does not take place: what it should refuse succeeded')
}

/** The server's connections, as PostgreSQL sees them. */
const countConnections = (databaseUrl: string): Promise<number> =>
  withDatabase(databaseUrl, async (client) => {
    const { rows } = await client.query<{ n: number }>(
      "select count(*)::int as n from pg_stat_activity where application_name like 'pohf-%'",
    )
    return rows[0]?.n ?? 0
  })

/** How long a first statement takes on a new connection through the proxy, in milliseconds. */
const timeStatement = async ({ proxy, postgres }: Deployment): Promise<number> => {
  const client = new Client({
    connectionString: proxy.urlOf(postgres.url('postgres')),
    connectionTimeoutMillis: 2_000,
  })
  client.on('error', () => undefined)
  await client.connect()
  const startedAt = performance.now()
  await client.query('select 1')
  const ms = performance.now() - startedAt
  await client.end()
  return Math.round(ms)
}

const strandConnections = async (deployment: Deployment): Promise<ActiveFault> => {
  const count = await countConnections(deployment.databaseUrl)
  deployment.proxy.strand()
  return {
    proof: async () => {
      requireTrue(count > 0, 'there was no connection')
      const ms = await timeStatement(deployment)
      return `${count} connections stranded; a new one answered in ${ms} ms`
    },
    end: nothingToEnd,
  }
}

const stallPath = async (deployment: Deployment): Promise<ActiveFault> => {
  deployment.proxy.stall()
  return {
    proof: async () => `a new connection failed: ${await codeOfFailure(() => timeStatement(deployment))}`,
    end: async () => deployment.proxy.heal(),
  }
}

const delayPath = async (deployment: Deployment): Promise<ActiveFault> => {
  deployment.proxy.delay(100)
  return {
    proof: async () => {
      const ms = await timeStatement(deployment)
      requireTrue(ms >= 195, `a statement took ${ms} ms`)
      return `a statement took ${ms} ms`
    },
    end: async () => deployment.proxy.heal(),
  }
}

const setReadOnly = async ({ databaseUrl }: Deployment): Promise<ActiveFault> => {
  const set = (sql: string) =>
    withDatabase(databaseUrl, async (client) => {
      await client.query('set transaction_read_only = off')
      await client.query(sql)
      await client.query('select pg_reload_conf()')
    })
  await set('alter system set default_transaction_read_only = on')
  return {
    proof: async () => {
      const code = await codeOfFailure(() =>
        withDatabase(databaseUrl, (client) => client.query('create table battery_proof ()')),
      )
      return `a write failed with ${code}`
    },
    end: () => set('alter system reset default_transaction_read_only'),
  }
}

const restartPostgres =
  (signal: NodeJS.Signals) =>
  async ({ postgres }: Deployment): Promise<ActiveFault> => {
    const before = postgres.starts()
    const restarting = postgres.restart(signal)
    return {
      proof: async () => {
        await restarting
        requireTrue(postgres.starts() > before, 'PostgreSQL was not started again')
        return `PostgreSQL ended by ${signal} and was started again`
      },
      end: () => restarting,
    }
  }

const signerPids = ({ servers }: Deployment): number[] =>
  childrenOf(servers[0]?.pid() ?? 0)
    .filter(({ role }) => role === 'signer')
    .map(({ pid }) => pid)

const sigkillSigner = async (deployment: Deployment): Promise<ActiveFault> => {
  const pids = signerPids(deployment)
  for (const pid of pids) process.kill(pid, 'SIGKILL')
  return {
    proof: async () => {
      await setTimeout(100)
      const left = signerPids(deployment).filter((pid) => pids.includes(pid))
      requireTrue(pids.length === 1 && left.length === 0, 'the signer lives')
      return 'the signer is gone'
    },
    end: nothingToEnd,
  }
}

const canConnect = (path: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(path)
    socket.once('error', () => resolve(false))
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
  })

const removeSocket = async ({ paths }: Deployment): Promise<ActiveFault> => {
  requireTrue(existsSync(paths.signerSocket), `${paths.signerSocket} was not there`)
  rmSync(paths.signerSocket)
  const removedAt = performance.now()
  return {
    // The api keeps its connection, so only a client that connects shows whether the signer listens.
    proof: async () => {
      while (!(await canConnect(paths.signerSocket))) {
        if (performance.now() - removedAt > bounds.recoveryMs)
          throw new Error('the signer does not listen on its socket again')
        await setTimeout(50)
      }
      const ms = Math.round(performance.now() - removedAt)
      return `the socket file was removed; the signer accepted connections again after ${ms} ms`
    },
    end: nothingToEnd,
  }
}

/** Writes until no byte fits any more. */
const fillDisk = (file: string): void => {
  const descriptor = openSync(file, 'w')
  try {
    for (let size = 1_048_576; size >= 1; size = Math.floor(size / 2)) {
      const block = Buffer.alloc(size, 1)
      try {
        for (;;) if (writeSync(descriptor, block) < size) break
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error
      }
    }
  } finally {
    closeSync(descriptor)
  }
}

const fillFolder =
  (which: 'data' | 'log') =>
  async ({ paths }: Deployment): Promise<ActiveFault> => {
    const folder = paths[which]
    const filler = join(folder, 'filler')
    fillDisk(filler)
    return {
      proof: async () => {
        const code = await codeOfFailure(async () =>
          writeFileSync(join(folder, 'proof'), Buffer.alloc(65_536)),
        )
        rmSync(join(folder, 'proof'), { force: true })
        return `a write failed with ${code}; the filler has ${statSync(filler).size} bytes`
      },
      end: async () => rmSync(filler),
    }
  }

/** Takes every connection that PostgreSQL has to give, and those of the server too. */
const exhaustConnections = async ({ postgres }: Deployment): Promise<ActiveFault> => {
  const held: Client[] = []
  const state = { code: '', ended: false }
  const takeAll = async (): Promise<void> => {
    for (;;) {
      const client = new Client({ connectionString: postgres.url('postgres') })
      client.on('error', () => undefined)
      try {
        await client.connect()
        held.push(client)
      } catch (error) {
        state.code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
        return
      }
    }
  }
  const evict = () =>
    held[0]?.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'pohf-%'",
    )
  const guard = async () => {
    while (!state.ended) {
      await takeAll()
      await evict()
      await takeAll()
      await setTimeout(100)
    }
  }
  await takeAll()
  const guarding = guard()
  return {
    proof: async () => {
      requireTrue(state.code === '53300', `the last connection failed with "${state.code}"`)
      return `${held.length} connections held; the next failed with 53300`
    },
    end: async () => {
      state.ended = true
      await guarding
      await Promise.all(held.map((client) => client.end()))
    },
  }
}

const moveClock =
  (seconds: number) =>
  async ({ databaseUrl, paths }: Deployment): Promise<ActiveFault> => {
    writeClockOffset(paths.clock, seconds)
    return {
      proof: () =>
        withDatabase(databaseUrl, async (client) => {
          const { rows } = await client.query<{ now: Date }>('select clock_timestamp() as now')
          const seen = Math.round(((rows[0]?.now.getTime() ?? 0) - Date.now()) / 1_000)
          requireTrue(Math.abs(seen - seconds) < 60, `the clock is off by ${seen} s`)
          return `PostgreSQL's clock was off by ${seen} s`
        }),
      end: async () => writeClockOffset(paths.clock, 0),
    }
  }

const [hour, month] = [3_600, 31 * 86_400]

/** Every fault of the battery, except planned stops. */
export const faults: readonly FaultScenario[] = [
  {
    name: 'stranded',
    title: 'connections stranded without a reset',
    deployment: 'plain',
    seconds: 0,
    isMomentary: true,
    begin: strandConnections,
  },
  {
    name: 'stalled',
    title: 'path to the database stalled',
    deployment: 'plain',
    seconds: 60,
    begin: stallPath,
  },
  {
    name: 'latency',
    title: '200 ms more for each round trip to the database',
    deployment: 'plain',
    seconds: 30,
    begin: delayPath,
  },
  { name: 'readonly', title: 'database read-only', deployment: 'plain', seconds: 20, begin: setReadOnly },
  {
    name: 'restart-fast',
    title: 'PostgreSQL restarted, fast shutdown',
    deployment: 'plain',
    seconds: 0,
    begin: restartPostgres('SIGINT'),
  },
  {
    name: 'restart-immediate',
    title: 'PostgreSQL restarted, immediate shutdown',
    deployment: 'plain',
    seconds: 0,
    begin: restartPostgres('SIGQUIT'),
  },
  {
    name: 'signer',
    title: 'signer killed',
    deployment: 'plain',
    seconds: 0,
    isMomentary: true,
    begin: sigkillSigner,
  },
  {
    name: 'socket',
    title: 'socket of the signer removed',
    deployment: 'plain',
    seconds: 0,
    isMomentary: true,
    begin: removeSocket,
  },
  {
    name: 'connections',
    title: 'connections of PostgreSQL exhausted',
    deployment: 'plain',
    seconds: 20,
    begin: exhaustConnections,
  },
  { name: 'log-disk', title: 'log disk full', deployment: 'disks', seconds: 20, begin: fillFolder('log') },
  { name: 'data-disk', title: 'data disk full', deployment: 'disks', seconds: 20, begin: fillFolder('data') },
  {
    name: 'clock+1h',
    title: "PostgreSQL's clock 1 hour ahead",
    deployment: 'clock',
    seconds: 20,
    begin: moveClock(hour),
  },
  {
    name: 'clock-1h',
    title: "PostgreSQL's clock 1 hour behind",
    deployment: 'clock',
    seconds: 20,
    begin: moveClock(-hour),
  },
  {
    name: 'clock+31d',
    title: "PostgreSQL's clock 31 days ahead",
    deployment: 'clock',
    seconds: 20,
    outlivesCredentials: true,
    begin: moveClock(month),
  },
  {
    name: 'clock-31d',
    title: "PostgreSQL's clock 31 days behind",
    deployment: 'clock',
    seconds: 20,
    outlivesCredentials: true,
    begin: moveClock(-month),
  },
]
