import { withProgress } from '../command/progress.ts'
import { runProgram } from '../command/run-program.ts'
import { keyOf, type AgentRemote } from '../command/agent.ts'

type AttackOptions = AgentRemote & {
  readonly site: string
  readonly sessions: string
  /** The name of `--url` in the first release. */
  readonly baseUrl?: string
  readonly library?: string
}

/** `pohf attack`. The bots are a program that is not part of an installation: no server should run with bots in it. */
export const attack = async (bot: string, options: AttackOptions): Promise<void> => {
  const { site, url, baseUrl = url, sessions, library } = options
  const parameters = ['--bot', bot, '--site', site, '--base-url', baseUrl, '--sessions', sessions]
  if (library !== undefined) parameters.push('--library', library)
  if (options.json) parameters.push('--json')
  const environment = options.key === undefined ? undefined : { POHF_KEY: keyOf(options) }
  process.exitCode = await withProgress(`${sessions} sessions of ${bot} against ${baseUrl}`, () =>
    runProgram('arena/src/main.ts', parameters, { environment }),
  )
}
