#!/usr/bin/env node
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { Command } from 'commander'
import { doctor } from './doctor.ts'
import { operatorCall } from './operator.ts'
import { openSession } from './sessions.ts'
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

const credentials = program.command('credentials').description('credentials that were minted')
const steps = {
  revoke: 'end a credential for good; verifiers see it within 90 seconds',
  suspend: 'hold a credential that is in doubt',
  reinstate: 'lift a suspension',
}
for (const [step, description] of Object.entries(steps))
  remote(credentials.command(`${step} <credentialId>`))
    .description(description)
    .requiredOption('--reason <text>', 'why: goes into the audit log and to the agent')
    .action((credentialId: string, options) =>
      operatorCall(options, 'POST', `/operator/credentials/${encodeURIComponent(credentialId)}/${step}`, {
        reason: options.reason,
      }),
    )
remote(program.command('members').description('people who enrolled').command('erase <agentId> <memberId>'))
  .description('delete the person behind a member, with everything that is held of them')
  .requiredOption('--reason <text>', 'why: goes into the audit log, so name nobody')
  .option('--mode <mode>', 'live or test', 'live')
  .action((agentId: string, memberId: string, options) =>
    operatorCall(
      options,
      'POST',
      `/operator/agents/${encodeURIComponent(agentId)}/members/${encodeURIComponent(memberId)}/erase`,
      { mode: options.mode, reason: options.reason },
    ),
  )
program
  .command('sessions')
  .description('what pages recorded')
  .command('open <sessionId>')
  .description('fetch a recording and check its chain, signatures and proofs')
  .option('--url <url>', 'the address of the service', 'http://127.0.0.1:3000')
  .option('--key <key>', 'an API key of the agent; default: POHF_API_KEY')
  .option('--json', 'one JSON object, with every record')
  .action(openSession)
const keys = program.command('keys').description('the keys that sign credentials')
remote(keys.command('list'))
  .description('list the keys and their states')
  .action((options) => operatorCall(options, 'GET', '/operator/keys'))
remote(keys.command('rotate'))
  .argument('<purpose>', 'live, test, status or epoch')
  .description('publish the successor of a key; it signs a day later')
  .action((purpose: string, options) => operatorCall(options, 'POST', '/operator/keys/rotate', { purpose }))
remote(keys.command('revoke <kid>'))
  .description('take a key that is in wrong hands out of use and out of the published set, at once')
  .requiredOption('--reason <text>', 'why; it goes into the audit log')
  .action((kid: string, options) =>
    operatorCall(options, 'POST', `/operator/keys/${encodeURIComponent(kid)}/revoke`, {
      reason: options.reason,
    }),
  )
remote(keys.command('check'))
  .description('compare what was signed with what was stored; ends with 1 where they differ')
  .option('--from <time>', 'ISO time; default: a day before --to')
  .option('--to <time>', 'ISO time; default: now')
  .action((options) => {
    const query = new URLSearchParams()
    for (const name of ['from', 'to']) if (options[name] !== undefined) query.set(name, options[name])
    return operatorCall(options, 'GET', `/operator/keys/check?${query.toString()}`)
  })

await program.parseAsync()
