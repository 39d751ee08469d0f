#!/usr/bin/env node
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Command, Option } from 'commander'
import { calibrateFolder } from './calibrate.ts'
import { listen, trigger } from './listen.ts'
import { showForging } from './forging.ts'
import { addGrantCommands } from './grants.ts'
import { addKeys } from './keys.ts'
import { addLists } from './lists.ts'
import { requireServer } from './missing-server.ts'
import { addOperatorLists, operatorCall } from './operator.ts'
import { addPayouts } from './payouts.ts'
import { addRoots } from './roots.ts'
import { recomputeFile } from './recompute.ts'
import { addRestore } from './restore.ts'
import * as orders from './orders.ts'
import { openSession } from './sessions.ts'
import { addTagCheck } from './tag/command.ts'
import { verify } from './verify.ts'
import * as hooks from './webhooks.ts'

const packageFile = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))

/** Runs a program of the workspace with this terminal, these signals and this exit code. */
const run = async (file: string, parameters: readonly string[]): Promise<void> => {
  const child = spawn(process.execPath, [file, ...parameters], { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
  process.exitCode = await new Promise<number>((resolve) => child.once('exit', (code) => resolve(code ?? 1)))
}

const runServer = (file: string, parameters: readonly string[] = []): Promise<void> => {
  requireServer()
  return run(packageFile(`server/${file}`), parameters)
}

type AttackOptions = Readonly<Record<'site' | 'url' | 'sessions', string>> & {
  /** The name of `--url` in the first release. */
  readonly baseUrl?: string
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
  const { site, url, baseUrl = url, sessions } = options
  await run(arena, ['--bot', bot, '--site', site, '--base-url', baseUrl, '--sessions', sessions, ...optional])
}

const serviceUrl = () =>
  new Option('--url <url>', 'address of the service').env('POHF_URL').default('http://127.0.0.1:3000')

const program = new Command('pohf').description('Proof that a human did it.').showHelpAfterError()

program
  .command('dev')
  .description('run the service with its database, mail catcher and chain on this machine, for development')
  .option('--no-chain', 'do not start a local chain; purchases with a wallet are then off')
  .option('--no-pages', 'do not build the web pages and do not start the sample site')
  .option('--demo', 'use a database of its own with a year of believable data, from the sources only')
  .action((options: { chain: boolean; pages: boolean; demo?: true }) =>
    runServer('dev/dev.ts', [
      ...(options.demo ? ['--demo'] : []),
      ...(options.chain ? [] : ['--no-chain']),
      ...(options.pages ? [] : ['--no-pages']),
    ]),
  )
program
  .command('start')
  .description('run the service with settings from the environment')
  .action(() => runServer('src/main.ts'))
program
  .command('migrate')
  .description('bring the database schema up to date')
  .action(() => runServer('src/main.ts', ['migrate']))
program
  .command('doctor')
  .description('check this deployment and say what to fix')
  .option('--json', 'print one JSON object as the last line')
  .action(async (options: { json?: boolean }) => {
    requireServer()
    // Loaded on demand: it imports the server, which would slow down every other command.
    return (await import('./doctor.ts')).doctor(options)
  })

program
  .command('verify <jwt>')
  .description('verify a credential against your policy; - reads it from standard input')
  .requiredOption('--issuer <url>', 'address of the service, as in the issuer of its credentials')
  .requiredOption('--kinds <kinds>', 'kinds that you accept, comma-separated')
  .requiredOption('--min-assurance <level>', 'low, substantial or high')
  .requiredOption('--min-quality <number>', '0 to 1; 0 also accepts credentials without a quality')
  .option('--min-forging <class>', 'F0 to F4: least cost of forging, by the price table of the issuer')
  .option('--forging-table <file>', 'file with the price table; none is fetched')
  .option('--status <demand>', 'check of the status list: require, if-present or skip', 'if-present')
  .option('--challenge <text>', 'the challenge that you gave out for this act')
  .option('--max-age <seconds>', 'maximum age of the act')
  .option('--allow-test', 'accept test credentials, which prove nothing')
  .option('--jwks <file>', 'file with the public keys; no key is fetched')
  .option('--json', 'print one JSON object as the last line')
  .action(verify)

program
  .command('forging')
  .description('show what 1,000 forged credentials of a service cost, and compute its table again')
  .requiredOption('--issuer <url>', 'address of the service, as in the issuer of its credentials')
  .option('--forging-table <file>', 'file with the price table; none is fetched')
  .option('--jwks <file>', 'file with the public keys; no key is fetched')
  .option('--json', 'print the table as one JSON object')
  .action(showForging)

program
  .command('recompute <file>')
  .description('score a session again from the answer of GET /api/agents/sessions/{id}/chunks')
  .option('--credential <jwt>', 'compare the result with this credential')
  .option('--issuer <url>', 'address of the service, to verify the signature of the credential')
  .option('--jwks <file>', 'file with the public keys; no key is fetched')
  .option('--json', 'print one JSON object as the last line')
  .action(recomputeFile)

program
  .command('calibrate <folder>')
  .description(
    'calibrate pointer motion on a platform from sessions of consenting people, one folder for each person',
  )
  .requiredOption('--platform <name>', 'windows, mac, linux, chromeos, android, ios or other')
  .option('--out <file>', 'file to which the calibration is written', 'calibrations.json')
  .action(calibrateFolder)

program
  .command('attack <bot>')
  .description('run a bot of yours against a server of yours; see docs/guides/arena.md')
  .requiredOption('--site <agentId>', 'agent whose site is attacked')
  .addOption(serviceUrl())
  .addOption(new Option('--base-url <url>').hideHelp())
  .option('--key <key>', 'API key of that agent, to read the verdicts; default: POHF_KEY')
  .option('--sessions <number>', 'number of sessions', '5')
  .option('--library <file>', 'file with recorded human strokes for the bot')
  .action(attack)

const agentCommand = (command: Command) =>
  command.addOption(serviceUrl()).option('--key <key>', 'API key; default: POHF_KEY')
agentCommand(program.command('listen'))
  .description('forward the events of a test key, signed, to a receiver on this machine')
  .requiredOption('--forward-to <url>', 'address of your receiver, such as http://127.0.0.1:4000/')
  .option('--secret <secret>', 'signing secret of an endpoint; default: a new one for this run')
  .option('--events <names>', 'only these events, comma-separated')
  .option('--since <time>', 'start with events from this time; default: now')
  .option('--once', 'stop when no event is left')
  .action(listen)
agentCommand(program.command('trigger <event>'))
  .description('publish the example of an event, with a test key')
  .action(trigger)

agentCommand(program.command('buy [workflowId]'))
  .description(
    'buy a verified unit with a wallet; see docs/guides/buy.md. Exit code 3: the payment is still open',
  )
  .option('--max-usd <amount>', 'maximum price in US dollars', '0.10')
  .option('--key-file <file>', 'file with the private key of the wallet; default: PAYER_PRIVATE_KEY')
  .option('--network <name>', 'pay only on this network: base or base-sepolia')
  .option('--pay-to <address>', 'pay only this address')
  .option('--issuer <url>', 'issuer of the credentials; default: --url')
  .option('--wait <seconds>', 'maximum time to wait for settlement', '180')
  .option('--resume <purchaseId>', 'read the result of an open purchase; signs nothing')
  .option('--json', 'print one JSON object')
  // Loaded on demand: it imports the elliptic curve of the wallet.
  .action(async (workflowId: string | undefined, options) =>
    (await import('./buy.ts')).buy(workflowId, options),
  )

addTagCheck((text) => agentCommand(program.command('tag').description('check embedded tags').command(text)))

const webhooks = program.command('webhooks').description('manage webhook endpoints')
const webhookCommand = (text: string, description: string) =>
  agentCommand(webhooks.command(text))
    .description(description)
    .option('--json', 'print the answer as one JSON object')
webhookCommand('list', 'list endpoints with their state and health').action(hooks.list)
webhookCommand('add <url>', 'subscribe a URL and print its signing secret once')
  .requiredOption('--events <names>', "event names, comma-separated, or '*'")
  .action(hooks.add)
webhookCommand('enable <id>', 'enable an endpoint').action(hooks.enable)
webhookCommand('disable <id>', 'disable an endpoint').action(hooks.disable)
webhookCommand('delete <id>', 'delete an endpoint').action(hooks.remove)
webhookCommand(
  'rotate <id>',
  'replace the signing secret and print the new one once; the old one also signs for a day',
)
  .option('--now', 'the old secret stops signing at once: use it for a leaked secret')
  .action(hooks.rotate)
webhookCommand('test <id>', 'send a test event').action(hooks.sendTest)
webhookCommand('deliveries <id>', 'list the latest deliveries with every attempt and its error')
  .option('--state <state>', 'only deliveries in this state: pending, delivered or dead')
  .option('--limit <number>', 'number of deliveries, 1 to 100')
  .action(hooks.deliveries)
webhookCommand('replay <deliveryId>', 'send one delivery again').action(hooks.replay)
webhookCommand('recover <id>', 'enable an endpoint and send the events that it missed since a time')
  .requiredOption('--since <time>', 'ISO time, at most 30 days ago')
  .action(hooks.recover)
webhooks
  .command('verify')
  .description('verify a saved delivery offline and explain what is wrong with it')
  .option('--secret <secret>', 'whsec_…; default: POHF_WEBHOOK_SECRET')
  .requiredOption('--headers <file>', 'file with its headers, as lines or as one JSON object')
  .requiredOption('--body <file>', 'file with its body, byte for byte; - reads it from standard input')
  .option('--at <time>', 'time of receipt; default: now')
  .option('--tolerance <seconds>', 'maximum age; default: 300')
  .option('--json', 'print the result as one JSON object')
  .action(hooks.verify)

const operator = program
  .command('operator')
  .description('manage operators, read the audit log, and act for agents')
operator
  .command('create <name>')
  .description('create an operator from this machine (needs DATABASE_URL) and print the key once')
  .action((name: string) => runServer('src/main.ts', ['operator', 'create', name]))
operator
  .command('passkeys <name>')
  .description(
    'list the passkeys of an operator from this machine (needs DATABASE_URL), or remove a lost one',
  )
  .option('--remove <passkeyId>', 'remove this passkey and end the sessions that it opened')
  .action((name: string, { remove }: { remove?: string }) =>
    runServer('src/main.ts', ['operator', 'passkeys', name, ...(remove === undefined ? [] : [remove])]),
  )
const operatorCommand = (command: Command) =>
  command
    .addOption(
      new Option('--url <url>', 'address of the operators’ listener')
        .env('POHF_OPERATOR_URL')
        .default('http://127.0.0.1:3001'),
    )
    .option('--key <key>', 'operator key; default: POHF_OPERATOR_KEY')
operatorCommand(operator.command('list'))
  .description('list the operators')
  .action((options) => operatorCall(options, 'GET', '/operator/operators'))
operatorCommand(operator.command('audit'))
  .description('read and verify the audit log')
  .action((options) => operatorCall(options, 'GET', '/operator/audit?limit=1000'))
operatorCommand(operator.command('revoke <operatorId>'))
  .description('revoke an operator')
  .action((operatorId: string, options) =>
    operatorCall(options, 'POST', `/operator/operators/${encodeURIComponent(operatorId)}/revoke`),
  )
addOperatorLists((text) => operatorCommand(operator.command(text)))
addGrantCommands((text) => operatorCommand(operator.command(text)))

const credentials = program
  .command('credentials')
  .description('list your credentials; as an operator, revoke, suspend or reinstate them')
const steps = {
  revoke: 'revoke a credential for good; verifiers see it within 90 seconds',
  suspend: 'suspend a credential',
  reinstate: 'lift a suspension',
}
for (const [step, description] of Object.entries(steps))
  operatorCommand(credentials.command(`${step} <credentialId>`))
    .description(description)
    .requiredOption('--reason <text>', 'reason, for the audit log and the agent')
    .action((credentialId: string, options) =>
      operatorCall(options, 'POST', `/operator/credentials/${encodeURIComponent(credentialId)}/${step}`, {
        reason: options.reason,
      }),
    )
operatorCommand(
  program.command('members').description('manage enrolled people').command('erase <agentId> <memberId>'),
)
  .description('erase the person behind a member')
  .requiredOption('--reason <text>', 'reason, for the audit log; do not name the person')
  .option('--mode <mode>', 'live or test', 'live')
  .action((agentId: string, memberId: string, options) =>
    operatorCall(
      options,
      'POST',
      `/operator/agents/${encodeURIComponent(agentId)}/members/${encodeURIComponent(memberId)}/erase`,
      { mode: options.mode, reason: options.reason },
    ),
  )
const sessions = program.command('sessions').description('list your sessions and read recordings')
sessions
  .command('open <sessionId>')
  .description('fetch a recording and verify its chain, signatures and proofs')
  .addOption(serviceUrl())
  .option('--key <key>', 'API key of the agent; default: POHF_KEY')
  .option('--json', 'print one JSON object with every record')
  .action(openSession)
addLists(program, { credentials, sessions }, (parent, text) => agentCommand(parent.command(text)))
const order = program.command('orders').description('manage the orders of your agent')
const orderCommand = (text: string, description: string) =>
  agentCommand(order.command(text)).description(description).option('--json', 'print the answer as JSON')
orderCommand('list', 'list your orders, newest first')
  .option('--status <status>', 'only orders in this state')
  .action(orders.list)
orderCommand('show <orderId>', 'show one order').action(orders.read)
orderCommand('results <orderId>', 'print the answers, one line for each unit')
  .option('--csv', 'print CSV, with the credentials')
  .action(orders.results)
orderCommand('accept <orderId> <n>', 'accept a delivered unit; the worker is paid').action(orders.accept)
orderCommand('reject <orderId> <n>', 'reject a delivered unit; the worker may appeal')
  .requiredOption(
    '--reason <reason>',
    'wrong_answer, instructions_not_followed, incomplete, low_effort or other',
  )
  .option('--note <text>', 'note for the worker')
  .action(orders.reject)
orderCommand('cancel <orderId>', 'cancel the units that no worker has claimed').action(orders.cancel)

const workflows = program.command('workflows').description('manage workflows')
operatorCommand(workflows.command('list'))
  .description('list every workflow with its forms, known-answer items and stock')
  .action((options) => operatorCall(options, 'GET', '/operator/workflows'))
operatorCommand(workflows.command('write <workflowId>'))
  .description('create or change a workflow; existing orders keep their terms')
  .option('--file <file>', 'file with the terms as JSON; - reads standard input', '-')
  .action(orders.writeWorkflow)
operatorCommand(workflows.command('retire <workflowId>'))
  .description('retire a workflow; existing orders are finished')
  .action((workflowId: string, options) =>
    operatorCall(options, 'POST', `/operator/workflows/${encodeURIComponent(workflowId)}/retire`),
  )
const work = program.command('work').description('order work at the platform’s own cost')
operatorCommand(work.command('produce <workflowId> <quantity>'))
  .description('order units to be sold from stock')
  .option('--mode <mode>', 'live or test', 'live')
  .option('--instructions <text>', 'instructions for the workers')
  .option('--idempotency-key <key>', 'repeat the command with the same key and it acts once')
  .action((workflowId: string, quantity: string, options) =>
    operatorCall(options, 'POST', '/operator/work/produce', {
      workflowId,
      mode: options.mode,
      quantity: Number(quantity),
      ...(options.instructions === undefined ? {} : { instructions: options.instructions }),
    }),
  )

addPayouts(program, operatorCommand)
addRoots(program, operatorCommand)

const refunds = program.command('refunds').description('manage card refunds')
operatorCommand(refunds.command('list'))
  .description('list refunds and their states')
  .option('--state <state>', 'only refunds in this state: wanted, sent, done or failed')
  .option('--agent <agentId>', 'only refunds of this agent')
  .action((options) => {
    const query = new URLSearchParams({ limit: '200' })
    if (options.state !== undefined) query.set('state', options.state)
    if (options.agent !== undefined) query.set('agentId', options.agent)
    return operatorCall(options, 'GET', `/operator/refunds?${query.toString()}`)
  })
operatorCommand(refunds.command('give <checkoutId>'))
  .description('refund a checkout, as far as it is refundable')
  .requiredOption('--reason <text>', 'reason, for the audit log')
  .option('--cents <number>', 'amount in US cents; default: all that is refundable')
  .option('--idempotency-key <key>', 'repeat the command with the same key and it acts once')
  .action((checkoutId: string, options) =>
    operatorCall(options, 'POST', '/operator/refunds', {
      checkoutId,
      reason: options.reason,
      ...(options.cents === undefined ? {} : { amountUsdCents: Number(options.cents) }),
    }),
  )
operatorCommand(refunds.command('retry <refundId>'))
  .description('retry a failed refund')
  .action((refundId: string, options) =>
    operatorCall(options, 'POST', `/operator/refunds/${encodeURIComponent(refundId)}/retry`),
  )

const credits = program.command('credits').description('check credits')
operatorCommand(credits.command('check'))
  .description('compare card payments with posted credits; exit code 1: they differ')
  .action((options) => operatorCall(options, 'GET', '/operator/credits/check'))

const ledger = program.command('ledger').description('check the ledger')
operatorCommand(ledger.command('check'))
  .description('reconcile the ledger now; exit code 1: there is drift')
  .option('--whole', 'check every line, not only the new ones')
  .action((options) =>
    operatorCall(options, 'GET', `/operator/ledger/check${options.whole ? '?whole=1' : ''}`),
  )
addKeys(program, operatorCommand)
addRestore(program, operatorCommand)
await program.parseAsync()
