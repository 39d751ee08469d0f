import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const mainFile = fileURLToPath(new URL('../src/main.ts', import.meta.url))

export type Running = {
  readonly child: ChildProcess
  readonly pid: number
  readonly out: () => string
  readonly errors: () => string
  /** The exit code, or the signal that ended it. */
  readonly ended: Promise<number | string>
}

/** Runs a command of Node's with exactly this environment, nothing of ours leaking in. */
export const startNode = (parameters: readonly string[], environment: Record<string, string>): Running => {
  const child = spawn(process.execPath, parameters, {
    env: { PATH: process.env['PATH'] ?? '', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const written = { out: '', errors: '' }
  child.stdout.on('data', (chunk: Buffer) => (written.out += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (written.errors += chunk.toString()))
  return {
    child,
    pid: child.pid ?? 0,
    out: () => written.out,
    errors: () => written.errors,
    ended: new Promise((resolve) => child.once('close', (code, signal) => resolve(code ?? signal ?? ''))),
  }
}

/** Runs the server's own program, as `npm start` does. */
export const startMain = (parameters: readonly string[], environment: Record<string, string>): Running =>
  startNode([mainFile, ...parameters], environment)

/** Processes that descend directly from one, by the role in their command line. */
export const childrenOf = (pid: number): { pid: number; role: string }[] => {
  const { stdout } = spawnSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' })
  return stdout.split('\n').flatMap((line) => {
    const found = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line)
    if (!found || Number(found[2]) !== pid) return []
    return [{ pid: Number(found[1]), role: found[3]?.split(' ').at(-1) ?? '' }]
  })
}

export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
