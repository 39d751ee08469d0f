import { setTimeout } from 'node:timers/promises'
import { startCluster, type Cluster } from '../../packages/server/dev/cluster.ts'
import { waitForExit } from '../../packages/server/test/fixtures/processes/restarts.ts'

export type RestartingPostgres = {
  readonly url: Cluster['url']
  readonly port: number
  /** How often it was started, with the first time. */
  readonly starts: () => number
  /** Ends it with a signal, and waits until it accepts connections again. */
  readonly restart: (signal: NodeJS.Signals) => Promise<void>
  readonly stop: () => Promise<void>
}

/** A cluster that is started again on what is on its disk whenever it ends, as a service manager does. */
export const openPostgres = async (options: {
  folder: string
  settings: Readonly<Record<string, string>>
  env?: NodeJS.ProcessEnv
}): Promise<RestartingPostgres> => {
  const state = { starts: 0, stopping: false }
  let running = Promise.resolve()
  let cluster = await startCluster(options)
  const { port } = cluster
  const watch = (): void => {
    state.starts += 1
    void waitForExit(cluster.process).then(() => {
      if (state.stopping) return
      running = startAgain()
      // Whoever waits for the start gets the error.
      running.catch(() => undefined)
    })
  }
  const startAgain = async (): Promise<void> => {
    // The other processes notice the kill of the first one a moment later; until then the memory is in use. A full disk
    // refuses every start until there is space.
    const deadline = performance.now() + 120_000
    while (!state.stopping) {
      try {
        cluster = await startCluster({ ...options, port })
        watch()
        return
      } catch (error) {
        if (performance.now() > deadline) throw error
        await setTimeout(100)
      }
    }
  }
  watch()
  return {
    url: (database) => cluster.url(database),
    port,
    starts: () => state.starts,
    restart: async (signal) => {
      const ending = cluster.process
      ending.kill(signal)
      await waitForExit(ending)
      // The new start is begun by a listener on the same event.
      await setTimeout(0)
      await running
    },
    stop: async () => {
      state.stopping = true
      await running
      await cluster.stop()
    },
  }
}
