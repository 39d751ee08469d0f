import type { CommandGroup } from '../command/help.ts'
import { requireServer } from '../command/missing-server.ts'
import { addLocal, addServer } from '../command/options.ts'
import { withProgress } from '../command/progress.ts'
import { runProgram } from '../command/run-program.ts'

type DevOptions = {
  readonly chain: boolean
  readonly pages: boolean
  readonly demo?: true
  readonly json?: boolean
}

const runDev = async (options: DevOptions): Promise<void> => {
  const parameters = [
    ...(options.demo ? ['--demo'] : []),
    ...(options.chain ? [] : ['--no-chain']),
    ...(options.pages ? [] : ['--no-pages']),
    ...(options.json ? ['--json'] : []),
  ]
  process.exitCode = await runProgram('server/dev/dev.ts', parameters)
}

const migrate = async ({ json }: { readonly json?: boolean }): Promise<void> => {
  const code = await withProgress('migrating', () => runProgram('server/src/main.ts', ['migrate'], { json }))
  if (json) console.log(JSON.stringify({ ok: code === 0 }))
  process.exitCode = code
}

/** The server on this machine. */
export const serverGroup: CommandGroup = {
  name: 'server',
  title: 'Server: run, update and check the service on this machine',
  examples: ['dev', 'migrate', 'start', 'doctor'],
  add: (program) => {
    addLocal(
      program,
      'dev',
      'run the service with its database, mail catcher and chain on this machine, for development',
      'dev',
      'dev --no-chain --no-pages',
    )
      .option('--no-chain', 'do not start a local chain; purchases with a wallet are then off')
      .option('--no-pages', 'do not build the web pages and do not start the sample site')
      .option('--demo', 'use a database of its own with a year of believable data; only in a clone')
      .action(runDev)
    addServer(
      program,
      'start',
      'run the service with settings from the environment; its log is JSON, one line for each entry',
      'start',
    ).action(async () => {
      process.exitCode = await runProgram('server/src/main.ts', [])
    })
    addLocal(program, 'migrate', 'bring the database schema up to date', 'migrate').action(migrate)
    addLocal(
      program,
      'doctor',
      'check this deployment and say what to fix; exit code 1: there are problems',
      'doctor',
      'doctor --json',
    ).action(async (options: { json?: boolean }) => {
      requireServer()
      // Loaded on demand: it imports the server, which would slow down every other command.
      return (await import('./doctor/doctor.ts')).doctor(options)
    })
  },
}
