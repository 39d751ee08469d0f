import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Names what is to be done at the end. The last named is done first. */
export type Defer = (close: () => unknown) => void

type Scope = { readonly defer: Defer; readonly close: () => Promise<void> }
const scopes = new Set<Scope>()

/** Whether the program ends: what would be opened now would stay open. */
let isEnding = false

const openScope = (): Scope => {
  if (isEnding) throw new Error('the program is ending')
  const closing: (() => unknown)[] = []
  const scope: Scope = {
    defer: (close) => {
      closing.push(close)
      // It was still being opened when all was closed.
      if (isEnding) void scope.close().catch(() => undefined)
    },
    close: async () => {
      scopes.delete(scope)
      const errors: unknown[] = []
      for (let close = closing.pop(); close !== undefined; close = closing.pop())
        try {
          await close()
        } catch (error) {
          errors.push(error)
        }
      if (errors.length > 0) throw new AggregateError(errors, 'not everything could be closed')
    },
  }
  scopes.add(scope)
  return scope
}

/** The error of the work is the one that counts, not what goes wrong after it. */
const closingOnError = async <T>(scope: Scope, work: (defer: Defer) => Promise<T>): Promise<T> => {
  try {
    return await work(scope.defer)
  } catch (error) {
    await scope.close().catch((closing: unknown) => console.error(closing))
    throw error
  }
}

/** What was opened, and `close`, which undoes it. If it cannot be opened, what was opened until then is closed. */
export const open = async <T extends object>(
  build: (defer: Defer) => Promise<T>,
): Promise<T & { readonly close: () => Promise<void> }> => {
  const scope = openScope()
  return { ...(await closingOnError(scope, build)), close: scope.close }
}

/** Closes what the work has opened at its end, however it ends. */
export const closingAfter = async <T>(work: (defer: Defer) => Promise<T>): Promise<T> => {
  const scope = openScope()
  const result = await closingOnError(scope, work)
  await scope.close()
  return result
}

/** A folder that is gone at the end. */
export const makeFolder = (name: string, defer: Defer): string => {
  const folder = mkdtempSync(join(tmpdir(), `pohf-${name}-`))
  defer(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 }))
  return folder
}

/** Closes all that is open: after a signal or a deadline nobody waits for the work. */
export const closeAll = async (): Promise<void> => {
  isEnding = true
  for (const scope of [...scopes].toReversed()) await scope.close().catch(() => undefined)
}

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

const allStates = (): ProcessState[] => {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((name) => readState(Number(name)) ?? [])
  } catch {
    // Only Linux has it.
    return []
  }
}

/** A process and all that descend from it, parents first. */
export const processTree = (root: number): number[] => {
  const children = Map.groupBy(allStates(), ({ parent }) => parent)
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

/** Ends what still descends from this process, by pid, and returns how many processes that were. */
export const endDescendants = (): number => {
  const ended = new Set<number>()
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const pids = processTree(process.pid).filter((pid) => pid !== process.pid && isRunning(pid))
    if (pids.length === 0) break
    for (const pid of pids) ended.add(pid)
    signalAll(pids, 'SIGKILL')
  }
  return ended.size
}
