#!/usr/bin/env node
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { Command } from 'commander'
import { listen, trigger } from './listen.ts'
import { operatorCall } from './operator.ts'
import { verify } from './verify.ts'
import * as hooks from './webhooks.ts'

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
  // Loaded when asked for: it brings the server with it, and every other command would wait for that.
  .action(async (options: { json?: boolean }) => (await import('./doctor.ts')).doctor(options))

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

const agent = (command: Command) =>
  command
    .option('--url <url>', 'the service', 'http://127.0.0.1:3000')
    .option('--key <key>', 'an API key; default: POHF_KEY')
agent(program.command('listen'))
  .description('send the events of a test key, signed, to a receiver on this machine')
  .requiredOption('--forward-to <url>', 'your receiver, such as http://127.0.0.1:4000/')
  .option('--secret <secret>', 'sign with the secret of a real endpoint; default: one made for this run')
  .option('--events <names>', 'only these, with commas between')
  .option('--since <time>', 'begin there; default: now')
  .option('--once', 'end when there is no more')
  .action(listen)
agent(program.command('trigger <event>'))
  .description('make the example of an event happen, with a test key')
  .action(trigger)

const webhooks = program.command('webhooks').description('endpoints that events are sent to')
const hook = (text: string, description: string) =>
  agent(webhooks.command(text)).description(description).option('--json', 'the answer as one JSON object')
hook('list', 'endpoints with their state and health').action(hooks.list)
hook('add <url>', 'subscribe a URL and print its secret, once')
  .requiredOption('--events <names>', "names with commas between, or '*'")
  .action(hooks.add)
hook('enable <id>', 'switch an endpoint on').action(hooks.enable)
hook('disable <id>', 'switch an endpoint off').action(hooks.disable)
hook('delete <id>', 'delete an endpoint').action(hooks.remove)
hook('rotate <id>', 'print a new secret, once; the old one signs too for a day')
  .option('--now', 'the old one signs no more: for a secret that leaked')
  .action(hooks.rotate)
hook('test <id>', 'send a test event').action(hooks.sendTest)
hook('deliveries <id>', 'the latest deliveries, every attempt, and why it failed')
  .option('--state <state>', 'pending, delivered or dead')
  .option('--limit <number>', '1 to 100')
  .action(hooks.deliveries)
hook('replay <deliveryId>', 'send one delivery again').action(hooks.replay)
hook('recover <id>', 'switch on, and send what was not taken since a time')
  .requiredOption('--since <time>', 'ISO time, at most 30 days ago')
  .action(hooks.recover)
webhooks
  .command('verify')
  .description('check a delivery that you kept, offline, and say what is wrong with it')
  .option('--secret <secret>', 'whsec_…; default: POHF_WEBHOOK_SECRET')
  .requiredOption('--headers <file>', 'its headers, as lines or as one JSON object')
  .requiredOption('--body <file>', 'its body, byte for byte; - reads it from standard input')
  .option('--at <time>', 'when it came; default: now')
  .option('--tolerance <seconds>', 'how old it may be; default: 300')
  .option('--json', 'the result as one JSON object')
  .action(hooks.verify)

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
