#!/usr/bin/env node
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { Command } from 'commander'
import { doctor } from './doctor.ts'
import { operatorCall } from './operator.ts'
import { verify } from './verify.ts'

const serverFile = (path: string) => fileURLToPath(new URL(`../../server/${path}`, import.meta.url))

/** Runs a file of the server package in our place: same terminal, same signals, same exit code. */
const become = async (file: string, parameters: readonly string[] = []): Promise<void> => {
  const child = spawn(process.execPath, [serverFile(file), ...parameters], { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
  process.exitCode = await new Promise<number>((resolve) => child.once('exit', (code) => resolve(code ?? 1)))
}

const program = new Command('pohf').description('Proof that a human did it.').showHelpAfterError()

program
  .command('dev')
  .description('run everything on this machine, for development')
  .action(() => become('dev/dev.ts'))
program
  .command('start')
  .description('run the service from the environment')
  .action(() => become('src/main.ts'))
program
  .command('migrate')
  .description('bring the database schema up to date')
  .action(() => become('src/main.ts', ['migrate']))
program
  .command('doctor')
  .description('check this deployment and say what to mend')
  .option('--json', 'one JSON object on the last line')
  .action(doctor)

program
  .command('verify <jwt>')
  .description('check a credential against your policy; - reads it from standard input')
  .requiredOption('--issuer <url>', 'the address of the service, as it writes itself')
  .requiredOption('--kinds <kinds>', 'which kinds you accept, with commas between')
  .requiredOption('--min-assurance <level>', 'low, substantial or high')
  .requiredOption('--min-quality <number>', '0 to 1; 0 also accepts where no attention was measured')
  .option('--status <demand>', 'the status list: require, if-present or skip', 'if-present')
  .option('--challenge <text>', 'the nonce you gave out for this act')
  .option('--max-age <seconds>', 'how long ago the act may have ended')
  .option('--allow-test', 'accept test credentials, which prove nothing')
  .option('--jwks <file>', 'keys you already hold: no key is fetched')
  .option('--json', 'one JSON object on the last line')
  .action(verify)

const operator = program.command('operator').description('the people who run this deployment')
operator
  .command('create <name>')
  .description('make an operator on this machine (needs DATABASE_URL) and print the key, once')
  .action((name: string) => become('src/main.ts', ['operator', 'create', name]))
const remote = (command: Command) =>
  command
    .option('--url <url>', 'the operators’ listener', 'http://127.0.0.1:3001')
    .option('--key <key>', 'an operator key; default: POHF_OPERATOR_KEY')
remote(operator.command('list'))
  .description('list the operators')
  .action((options) => operatorCall(options, 'GET', '/operator/operators'))
remote(operator.command('audit'))
  .description('read and check the audit log')
  .action((options) => operatorCall(options, 'GET', '/operator/audit?limit=1000'))
remote(operator.command('revoke <operatorId>'))
  .description('revoke an operator')
  .action((operatorId: string, options) =>
    operatorCall(options, 'POST', `/operator/operators/${encodeURIComponent(operatorId)}/revoke`),
  )

await program.parseAsync()
