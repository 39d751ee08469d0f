import { setTimeout } from 'node:timers/promises'
import { nothingToEnd, requireTrue, type ActiveFault, type InjectedFault } from '../verify-load/faults.ts'
import type { PatroniCluster, PatroniNode } from './patroni-cluster.ts'
import { isRunning, isStopped, processTree, signalAll } from '../../driver/closing.ts'

export type FailoverFault = InjectedFault<PatroniCluster> & {
  /** The longest time without a 200 that is allowed. */
  readonly gapMsMax: number
}

const requireLeader = async (patroni: PatroniCluster): Promise<PatroniNode & { postmaster: number }> => {
  const leader = await patroni.findLeader()
  const postmaster = leader?.postmasterPid()
  if (!leader || postmaster === undefined) throw new Error('there is no primary to strike')
  return { ...leader, postmaster }
}

/** Kills every process of PostgreSQL and Patroni of the primary. Its machine boots again after the time of the fault. */
const killNode = async (patroni: PatroniCluster): Promise<ActiveFault> => {
  const leader = await requireLeader(patroni)
  const pids = [leader.patroniPid(), leader.postmaster].flatMap((pid) => processTree(pid))
  signalAll(pids, 'SIGKILL')
  return {
    proof: async () => {
      requireTrue(!pids.some(isRunning), `processes of ${leader.name} live`)
      const next = await patroni.findLeader()
      requireTrue(next !== undefined && next.name !== leader.name, `${leader.name} has no successor`)
      return `${pids.length} processes of ${leader.name} killed, ${next?.name} took over`
    },
    end: async () => leader.startPatroni(),
  }
}

const killPostmaster = async (patroni: PatroniCluster): Promise<ActiveFault> => {
  const leader = await requireLeader(patroni)
  signalAll([leader.postmaster], 'SIGKILL')
  return {
    proof: async () => {
      // On a busy machine the end of a process takes a moment.
      for (let count = 0; count < 50 && isRunning(leader.postmaster); count++) await setTimeout(100)
      requireTrue(!isRunning(leader.postmaster), `the postmaster of ${leader.name} lives`)
      return `the postmaster of ${leader.name} killed`
    },
    end: nothingToEnd,
  }
}

/** Patroni goes on, and waits for a PostgreSQL that does not answer. */
const freezePostgres = async (patroni: PatroniCluster): Promise<ActiveFault> => {
  const leader = await requireLeader(patroni)
  // The postmaster first: it starts no further process then.
  signalAll([leader.postmaster], 'SIGSTOP')
  const pids = processTree(leader.postmaster)
  signalAll(pids, 'SIGSTOP')
  return {
    proof: async () => {
      requireTrue(isStopped(leader.postmaster), `the postmaster of ${leader.name} runs`)
      return `${pids.length} processes of ${leader.name} stopped`
    },
    end: async () => signalAll([...pids, ...processTree(leader.postmaster)], 'SIGCONT'),
  }
}

const requestSwitchover = async (patroni: PatroniCluster): Promise<ActiveFault> => {
  const leader = await requireLeader(patroni)
  const standby = (await patroni.readMembers()).find(({ role }) => role === 'sync_standby')
  if (!standby) throw new Error('there is no synchronous standby to switch to')
  const switching = patroni.requestSwitchover(leader.name, standby.name)
  return {
    proof: async () => {
      await switching
      return `from ${leader.name} to ${standby.name}`
    },
    end: nothingToEnd,
  }
}

const isHealthy = (url: string): Promise<boolean> =>
  fetch(url, { signal: AbortSignal.timeout(1_000) }).then(
    ({ ok }) => ok,
    () => false,
  )

const stopEtcd = async (patroni: PatroniCluster): Promise<ActiveFault> => {
  const pids = patroni.nodes.map((node) => node.etcdPid())
  signalAll(pids, 'SIGSTOP')
  return {
    proof: async () => {
      const healthy = await Promise.all(patroni.etcdHealthUrls.map(isHealthy))
      requireTrue(!healthy.includes(true), 'a member of etcd answers')
      return `${pids.length} members of etcd stopped, none answers`
    },
    end: async () => signalAll(pids, 'SIGCONT'),
  }
}

/** The sessions of HAProxy that are connected to a server of PostgreSQL. */
const countSessions = async (patroni: PatroniCluster): Promise<number> => {
  const shown = await patroni.haproxyCommand('show sess')
  return shown.split('\n').filter((line) => /\bfe=postgres\b/.test(line) && !/\bsrv=<none>/.test(line)).length
}

const cutSessions = async (patroni: PatroniCluster): Promise<ActiveFault> => {
  const before = await countSessions(patroni)
  for (const { name } of patroni.nodes)
    await patroni.haproxyCommand(`shutdown sessions server postgres/${name}`)
  return {
    proof: async () => {
      requireTrue(before > 0, 'there was no session')
      return `${before} sessions cut`
    },
    end: nothingToEnd,
  }
}

/** Every fault of the battery. */
export const failoverFaults: readonly FailoverFault[] = [
  {
    name: 'node-kill',
    title: 'kill -9 of the primary and its Patroni',
    seconds: 20,
    gapMsMax: 20_000,
    begin: killNode,
  },
  {
    name: 'postmaster-kill',
    title: 'kill -9 of the postmaster of the primary',
    seconds: 0,
    gapMsMax: 20_000,
    begin: killPostmaster,
  },
  {
    name: 'freeze',
    title: 'PostgreSQL of the primary stopped (SIGSTOP) for 20 s',
    seconds: 20,
    gapMsMax: 30_000,
    begin: freezePostgres,
  },
  { name: 'switchover', title: 'switchover', seconds: 0, gapMsMax: 5_000, begin: requestSwitchover },
  { name: 'etcd-away', title: 'all of etcd stopped for 30 s', seconds: 30, gapMsMax: 5_000, begin: stopEtcd },
  {
    name: 'cut-sessions',
    title: 'HAProxy cuts all sessions to PostgreSQL',
    seconds: 0,
    gapMsMax: 5_000,
    begin: cutSessions,
  },
]
