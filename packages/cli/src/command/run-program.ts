import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { CommandError } from './errors.ts'
import { requireServer } from './missing-server.ts'

/** A file of another package of the workspace. */
const workspaceFile = (path: string): string => fileURLToPath(new URL(`../../../${path}`, import.meta.url))

/** Node 22 warns that it runs TypeScript, which is nothing that a user could change. */
const withoutExperimentalWarnings = '--disable-warning=ExperimentalWarning'

type ProgramOptions = {
  readonly json?: boolean | undefined
  /** Variables besides those of this process. A secret belongs here: every user of the machine can read arguments. */
  readonly environment?: Readonly<Record<string, string>> | undefined
}

/**
 * Runs a program of the workspace with this terminal and these signals, and returns its exit code. With `json`, what it
 * prints goes to standard error.
 */
export const runProgram = async (
  path: string,
  parameters: readonly string[],
  { json = false, environment }: ProgramOptions = {},
): Promise<number> => {
  if (path.startsWith('server/')) requireServer()
  const file = workspaceFile(path)
  if (!existsSync(file))
    throw new CommandError(`This command needs packages/${path}, which is not installed here.`, {
      code: 'not_installed',
      fix: 'Run it in a checkout of the sources: npx pohf.',
    })
  const child = spawn(process.execPath, [withoutExperimentalWarnings, file, ...parameters], {
    stdio: ['inherit', json ? 2 : 1, 2],
    env: { ...process.env, ...environment },
  })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
  return new Promise<number>((resolve) => child.once('exit', (code) => resolve(code ?? 1)))
}
