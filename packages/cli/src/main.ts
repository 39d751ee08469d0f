#!/usr/bin/env node
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Command } from 'commander'
import { calibrateFolder } from './calibrate.ts'
import { listen, trigger } from './listen.ts'
import { operatorCall } from './operator.ts'
import { recomputeFile } from './recompute.ts'
import * as orders from './orders.ts'
import { openSession } from './sessions.ts'
import { verify } from './verify.ts'
import * as hooks from './webhooks.ts'

const packageFile = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))

/** Runs a program of the workspace with this terminal, these signals and this exit code. */
const run = async (file: string, parameters: readonly string[]): Promise<void> => {
  const child = spawn(process.execPath, [file, ...parameters], { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
  process.exitCode = await new Promise<number>((resolve) => child.once('exit', (code) => resolve(code ?? 1)))
}

const runServer = (file: string, parameters: readonly string[] = []): Promise<void> =>
  run(packageFile(`server/${file}`), parameters)

type AttackOptions = Readonly<Record<'site' | 'baseUrl' | 'sessions', string>> & {
  readonly key?: string
  readonly library?: string
}

/** The bots are a separate program that is not part of an installation: no server should run with bots in it. */
const attack = async (bot: string, options: AttackOptions): Promise<void> => {
  const arena = packageFile('arena/src/main.ts')
  if (!existsSync(arena)) {
    console.error('The bots are not part of an installation. Run this from the sources: docs/guides/arena.md')
    process.exitCode = 2
    return
  }
  const optional = [
    ...(options.key === undefined ? [] : ['--key', options.key]),
    ...(options.library === undefined ? [] : ['--library', options.library]),
  ]
  const { site, baseUrl, sessions } = options
  await run(arena, ['--bot', bot, '--site', site, '--base-url', baseUrl, '--sessions', sessions, ...optional])
}

const program = new Command('pohf').description('Proof that a human did it.').showHelpAfterError()

program
  .command('dev')
  .description('run everything on this machine, for development')
  .option('--no-chain', 'without a local chain: nothing can be bought with a wallet')
  .action((options: { chain: boolean }) => runServer('dev/dev.ts', options.chain ? [] : ['--no-chain']))
program
  .command('start')
  .description('run the service from the environment')
  .action(() => runServer('src/main.ts'))
program
  .command('migrate')
  .description('bring the database schema up to date')
  .action(() => runServer('src/main.ts', ['migrate']))
program
  .command('doctor')
  .description('check this deployment and say what to mend')
  .option('--json', 'one JSON object on the last line')
  // Loaded on demand: it imports the server, which would slow down every other command.
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

program
  .command('recompute <file>')
  .description('score an opened session again: the answer of GET /api/agents/sessions/{id}/chunks')
  .option('--credential <jwt>', 'its credential: what comes out is compared with what was signed')
  .option('--issuer <url>', 'the address of the service: the signature of the credential is checked')
  .option('--jwks <file>', 'keys you already hold: no key is fetched')
  .option('--json', 'one JSON object on the last line')
  .action(recomputeFile)

program
  .command('calibrate <folder>')
  .description(
    'measure consenting people, one folder each with their opened sessions, so that motion may count',
  )
  .requiredOption('--platform <name>', 'windows, mac, linux, chromeos, android, ios or other')
  .option('--out <file>', 'where the rows are kept', 'calibrations.json')
  .action(calibrateFolder)

program
  .command('attack <bot>')
  .description('play a bot of yours against a server of yours, and see what it gets; docs/guides/arena.md')
  .requiredOption('--site <agentId>', 'the agent whose site is attacked')
  .option('--base-url <url>', 'the server', 'http://127.0.0.1:3000')
  .option('--key <key>', 'a key of that agent, to read the verdicts; default: POHF_API_KEY')
  .option('--sessions <number>', 'how many sessions', '5')
  .option('--library <file>', 'human strokes that the attacker owns')
  .action(attack)

const agentCommand = (command: Command) =>
  command
    .option('--url <url>', 'the service', 'http://127.0.0.1:3000')
    .option('--key <key>', 'an API key; default: POHF_KEY')
agentCommand(program.command('listen'))
  .description('send the events of a test key, signed, to a receiver on this machine')
  .requiredOption('--forward-to <url>', 'your receiver, such as http://127.0.0.1:4000/')
  .option('--secret <secret>', 'sign with the secret of a real endpoint; default: one made for this run')
  .option('--events <names>', 'only these, with commas between')
  .option('--since <time>', 'begin there; default: now')
  .option('--once', 'end when there is no more')
  .action(listen)
agentCommand(program.command('trigger <event>'))
  .description('make the example of an event happen, with a test key')
  .action(trigger)

agentCommand(program.command('buy [workflowId]'))
  .description(
    'buy a verified unit with a wallet: docs/guides/buy.md; ends with 3 where the payment is still open',
  )
  .option('--max-usd <amount>', 'the most that it may cost', '0.10')
  .option('--key-file <file>', 'holds the key of the wallet; default: PAYER_PRIVATE_KEY')
  .option('--network <name>', 'pay on this one only: base or base-sepolia')
  .option('--pay-to <address>', 'pay nobody else')
  .option('--issuer <url>', 'how the service writes itself in credentials; default: --url')
  .option('--wait <seconds>', 'how long to wait for the payment to settle', '180')
  .option('--resume <purchaseId>', 'find out how an open purchase ended; signs nothing')
  .option('--json', 'one JSON object')
  // Loaded on demand: it imports the elliptic curve of the wallet.
  .action(async (workflowId: string | undefined, options) =>
    (await import('./buy.ts')).buy(workflowId, options),
  )

const webhooks = program.command('webhooks').description('endpoints that events are sent to')
const webhookCommand = (text: string, description: string) =>
  agentCommand(webhooks.command(text))
    .description(description)
    .option('--json', 'the answer as one JSON object')
webhookCommand('list', 'endpoints with their state and health').action(hooks.list)
webhookCommand('add <url>', 'subscribe a URL and print its secret, once')
  .requiredOption('--events <names>', "names with commas between, or '*'")
  .action(hooks.add)
webhookCommand('enable <id>', 'switch an endpoint on').action(hooks.enable)
webhookCommand('disable <id>', 'switch an endpoint off').action(hooks.disable)
webhookCommand('delete <id>', 'delete an endpoint').action(hooks.remove)
webhookCommand('rotate <id>', 'print a new secret, once; the old one signs too for a day')
  .option('--now', 'the old one signs no more: for a secret that leaked')
  .action(hooks.rotate)
webhookCommand('test <id>', 'send a test event').action(hooks.sendTest)
webhookCommand('deliveries <id>', 'the latest deliveries, every attempt, and why it failed')
  .option('--state <state>', 'pending, delivered or dead')
  .option('--limit <number>', '1 to 100')
  .action(hooks.deliveries)
webhookCommand('replay <deliveryId>', 'send one delivery again').action(hooks.replay)
webhookCommand('recover <id>', 'switch on, and send what was not taken since a time')
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
  .action((name: string) => runServer('src/main.ts', ['operator', 'create', name]))
const operatorCommand = (command: Command) =>
  command
    .option('--url <url>', 'the operators’ listener', 'http://127.0.0.1:3001')
    .option('--key <key>', 'an operator key; default: POHF_OPERATOR_KEY')
operatorCommand(operator.command('list'))
  .description('list the operators')
  .action((options) => operatorCall(options, 'GET', '/operator/operators'))
operatorCommand(operator.command('audit'))
  .description('read and check the audit log')
  .action((options) => operatorCall(options, 'GET', '/operator/audit?limit=1000'))
operatorCommand(operator.command('revoke <operatorId>'))
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
  operatorCommand(credentials.command(`${step} <credentialId>`))
    .description(description)
    .requiredOption('--reason <text>', 'why: goes into the audit log and to the agent')
    .action((credentialId: string, options) =>
      operatorCall(options, 'POST', `/operator/credentials/${encodeURIComponent(credentialId)}/${step}`, {
        reason: options.reason,
      }),
    )
operatorCommand(
  program.command('members').description('people who enrolled').command('erase <agentId> <memberId>'),
)
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
const order = program.command('orders').description('work that you commissioned')
const orderCommand = (text: string, description: string) =>
  agentCommand(order.command(text)).description(description).option('--json', 'the answer as JSON')
orderCommand('list', 'your orders, newest first')
  .option('--status <status>', 'in one state')
  .action(orders.list)
orderCommand('show <orderId>', 'one order').action(orders.read)
orderCommand('results <orderId>', 'the answers, a line for each unit')
  .option('--csv', 'as a table, with the credentials')
  .action(orders.results)
orderCommand('accept <orderId> <n>', 'accept a delivered unit: the person is paid').action(orders.accept)
orderCommand('reject <orderId> <n>', 'reject a delivered unit; the person may appeal')
  .requiredOption(
    '--reason <reason>',
    'wrong_answer, instructions_not_followed, incomplete, low_effort or other',
  )
  .option('--note <text>', 'what the person should know')
  .action(orders.reject)
orderCommand('cancel <orderId>', 'end what nobody works on yet').action(orders.cancel)

const workflows = program.command('workflows').description('what people can be asked to do')
operatorCommand(workflows.command('list'))
  .description('every workflow, with its forms, known items and stock')
  .action((options) => operatorCall(options, 'GET', '/operator/workflows'))
operatorCommand(workflows.command('write <workflowId>'))
  .description('offer a workflow, or change what is offered; orders that stand keep their terms')
  .option('--file <file>', 'its terms as JSON; - reads standard input', '-')
  .action(orders.writeWorkflow)
operatorCommand(workflows.command('retire <workflowId>'))
  .description('offer it no more; orders that stand are finished')
  .action((workflowId: string, options) =>
    operatorCall(options, 'POST', `/operator/workflows/${encodeURIComponent(workflowId)}/retire`),
  )
const work = program.command('work').description('work at the operator’s own cost')
operatorCommand(work.command('produce <workflowId> <quantity>'))
  .description('have units made, to be sold from stock')
  .option('--mode <mode>', 'live or test', 'live')
  .option('--instructions <text>', 'what people should know')
  .action((workflowId: string, quantity: string, options) =>
    operatorCall(options, 'POST', '/operator/work/produce', {
      workflowId,
      mode: options.mode,
      quantity: Number(quantity),
      ...(options.instructions === undefined ? {} : { instructions: options.instructions }),
    }),
  )

const refunds = program.command('refunds').description('card money that goes back')
operatorCommand(refunds.command('list'))
  .description('what was to be given back, and how it stands')
  .option('--state <state>', 'wanted, sent, done or failed')
  .option('--agent <agentId>', 'of one agent')
  .action((options) => {
    const query = new URLSearchParams({ limit: '200' })
    if (options.state !== undefined) query.set('state', options.state)
    if (options.agent !== undefined) query.set('agentId', options.agent)
    return operatorCall(options, 'GET', `/operator/refunds?${query.toString()}`)
  })
operatorCommand(refunds.command('give <checkoutId>'))
  .description('give back what nothing stands on: all of it, or a part')
  .requiredOption('--reason <text>', 'why, for the audit log')
  .option('--cents <number>', 'US cents; default: all that can be given back')
  .action((checkoutId: string, options) =>
    operatorCall(options, 'POST', '/operator/refunds', {
      checkoutId,
      reason: options.reason,
      ...(options.cents === undefined ? {} : { amountUsdCents: Number(options.cents) }),
    }),
  )
operatorCommand(refunds.command('retry <refundId>'))
  .description('try a failed refund again')
  .action((refundId: string, options) =>
    operatorCall(options, 'POST', `/operator/refunds/${encodeURIComponent(refundId)}/retry`),
  )

const credits = program.command('credits').description('credits and the card payments behind them')
operatorCommand(credits.command('check'))
  .description('compare what was paid by card with what was posted; ends with 1 where they differ')
  .action((options) => operatorCall(options, 'GET', '/operator/credits/check'))

const ledger = program.command('ledger').description('the books')
operatorCommand(ledger.command('check'))
  .description('check the books now; ends with 1 where something does not add up')
  .option('--whole', 'every line from the first, not only what is new')
  .action((options) =>
    operatorCall(options, 'GET', `/operator/ledger/check${options.whole ? '?whole=1' : ''}`),
  )
const keys = program.command('keys').description('the keys that sign credentials')
operatorCommand(keys.command('list'))
  .description('list the keys and their states')
  .action((options) => operatorCall(options, 'GET', '/operator/keys'))
operatorCommand(keys.command('onchain'))
  .description('print what the registry contract must be told of the keys that sign for chains')
  .action((options) => operatorCall(options, 'GET', '/operator/keys/onchain'))
operatorCommand(keys.command('rotate'))
  .argument('<purpose>', 'live, test, status, epoch, onchain or onchain-test')
  .description('publish the successor of a key; it signs a day later, for chains a month later')
  .action((purpose: string, options) => operatorCall(options, 'POST', '/operator/keys/rotate', { purpose }))
operatorCommand(keys.command('revoke <kid>'))
  .description('take a key that is in wrong hands out of use and out of the published set, at once')
  .requiredOption('--reason <text>', 'why; it goes into the audit log')
  .action((kid: string, options) =>
    operatorCall(options, 'POST', `/operator/keys/${encodeURIComponent(kid)}/revoke`, {
      reason: options.reason,
    }),
  )
operatorCommand(keys.command('check'))
  .description('compare what was signed with what was stored; ends with 1 where they differ')
  .option('--from <time>', 'ISO time; default: a day before --to')
  .option('--to <time>', 'ISO time; default: now')
  .action((options) => {
    const query = new URLSearchParams()
    for (const name of ['from', 'to']) if (options[name] !== undefined) query.set(name, options[name])
    return operatorCall(options, 'GET', `/operator/keys/check?${query.toString()}`)
  })

await program.parseAsync()
