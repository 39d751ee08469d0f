import { readdirSync, readFileSync } from 'node:fs'

type ProcessState = { readonly pid: number; readonly parent: number; readonly state: string }

/** The state of a process: "S" sleeps, "T" is stopped, "Z" has ended. Undefined where there is none. */
const readState = (pid: number): ProcessState | undefined => {
  try {
    // The name of the program is in parentheses and may contain spaces.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
    return { pid, parent: Number(fields[1]), state: fields[0] ?? '' }
  } catch {
    return undefined
  }
}

export const isStopped = (pid: number): boolean => readState(pid)?.state === 'T'
export const isRunning = (pid: number): boolean => {
  const found = readState(pid)
  return found !== undefined && found.state !== 'Z'
}

/** A process and all that descend from it, parents first. */
export const processTree = (root: number): number[] => {
  const states = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => readState(Number(name)) ?? [])
  const children = Map.groupBy(states, ({ parent }) => parent)
  const found = [root]
  for (const pid of found) found.push(...(children.get(pid) ?? []).map((child) => child.pid))
  return found
}

/** Sends a signal to processes of which some may have ended. */
export const signalAll = (pids: readonly number[], signal: NodeJS.Signals): void => {
  for (const pid of pids)
    try {
      process.kill(pid, signal)
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
    }
}
