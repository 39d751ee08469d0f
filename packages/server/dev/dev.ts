// `npm run dev`: everything a developer needs, on this machine, from nothing.
import { spawn, type ChildProcess } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { startCheckoutSimulator, type CheckoutSimulator } from '@pohf/checkout-simulator'
import { ConfigFaults, readConfig, type Config } from '../src/platform/ops/config.ts'
import { buildPages } from './build-pages.ts'
import { openChain, type DevChain } from './chain.ts'
import { createDatabase, freePort, startCluster } from './cluster.ts'
import { buyDemoUnits, demoDatabase, demoFolder, prepareDemoFolder, readDemo, seedDemo } from './demo.ts'
import { seedOperator, writeDevVariables } from './dev-variables.ts'
import { startMailCatcher } from './mail-catcher.ts'

const print = (line: string) => console.log(line)
const step = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
  const startedAt = performance.now()
  const live = process.stdout.isTTY
  if (live) process.stdout.write(`  … ${name}`)
  const result = await work()
  process.stdout.write(
    `${live ? '\r\u001b[K' : ''}  ✓ ${name} (${((performance.now() - startedAt) / 1_000).toFixed(1)} s)\n`,
  )
  return result
}

const isDemo = process.argv.includes('--demo')
const databaseName = isDemo ? demoDatabase : 'pohf_dev'
const withPages = !process.argv.includes('--no-pages')

/** As root the cluster belongs to another user, who may not enter a private home folder. */
const clusterFolder = (dataDir: string): string =>
  process.getuid?.() === 0
    ? join('/var/tmp', `pohf-${createHash('sha256').update(dataDir).digest('hex').slice(0, 12)}`)
    : join(dataDir, 'postgres')

/** The port of a cluster that an earlier start left running. */
const runningPort = async (folder: string): Promise<number | undefined> => {
  const pidFile = join(folder, 'data/postmaster.pid')
  if (!existsSync(pidFile)) return undefined
  const port = Number(readFileSync(pidFile, 'utf8').split('\n')[3])
  const client = new Client({
    connectionString: `postgres://postgres@127.0.0.1:${port}/postgres`,
    connectionTimeoutMillis: 1_000,
  })
  try {
    await client.connect()
    await client.end()
    return port
  } catch {
    return undefined
  }
}

const openDatabase = async (
  dataDir: string,
  isNew: boolean,
): Promise<{ url: string; stop: () => Promise<void> }> => {
  const folder = clusterFolder(dataDir)
  const known = await runningPort(folder)
  const cluster = known === undefined ? await startCluster({ folder }) : undefined
  const port = cluster?.port ?? known
  const url = (name: string) => `postgres://postgres@127.0.0.1:${port}/${name}`
  const client = new Client({ connectionString: url('postgres') })
  await client.connect()
  if (isNew) await client.query(`drop database if exists "${databaseName}" with (force)`)
  const { rowCount } = await client.query('select from pg_database where datname = $1', [databaseName])
  await client.end()
  if (rowCount === 0) await createDatabase({ url }, databaseName)
  return { url: url(databaseName), stop: async () => cluster?.stop() }
}

const waitUntilReady = async (url: string, server: ChildProcess): Promise<void> => {
  const deadline = performance.now() + 60_000
  while (performance.now() < deadline) {
    if (server.exitCode !== null) throw new Error('the server stopped at start; see its output above')
    const ready = await fetch(url).then(
      (response) => response.ok,
      () => false,
    )
    if (ready) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error(`${url} did not get ready within 60 s`)
}

/** The same test agent at every start: its key is stored beside the other secrets. */
const seedAgent = async (config: Config): Promise<{ apiKey: string; agentId: string }> => {
  const file = join(config.DATA_DIR, 'dev-agent.json')
  if (existsSync(file)) {
    const known = JSON.parse(readFileSync(file, 'utf8')) as { apiKey: string; agentId: string }
    const response = await fetch(`http://127.0.0.1:${config.PORT}/api/agents/me`, {
      headers: { authorization: `Bearer ${known.apiKey}` },
    })
    if (response.ok) return known
  }
  const response = await fetch(`http://127.0.0.1:${config.PORT}/api/agents/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Development', contactEmail: 'dev@example.com', mode: 'test' }),
  })
  if (!response.ok) throw new Error(`registration answered ${response.status}`)
  const made = (await response.json()) as { apiKey: string; agentId: string }
  writeFileSync(file, JSON.stringify(made), { mode: 0o600 })
  return made
}

/** A publisher's site with the check in a form, as a process of its own. */
const startDemo = async (
  environment: Record<string, string>,
): Promise<{ url: string; stop: () => Promise<void> }> => {
  const file = fileURLToPath(new URL('../../demo/src/main.ts', import.meta.url))
  const child = spawn(process.execPath, [file], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  })
  const url = await new Promise<string>((resolve) => {
    child.stdout.once('data', (line: Buffer) => resolve(line.toString().trim()))
    child.once('exit', () => resolve('(did not start; see its output above)'))
  })
  const stop = async () => {
    const ended = new Promise((resolve) => child.once('exit', resolve))
    if (child.exitCode === null && child.kill('SIGTERM')) await ended
  }
  return { url, stop }
}

/** Starts the card simulator, unless the developer has configured a card provider. */
const startCardSimulator = (initialConfig: Config): Promise<CheckoutSimulator> | undefined =>
  initialConfig.STRIPE_SECRET_KEY === undefined
    ? startCheckoutSimulator({
        webhookUrl: `http://127.0.0.1:${initialConfig.PORT}/api/payments/card/webhook`,
        folder: initialConfig.DATA_DIR,
      })
    : undefined

/** Starts a local chain, unless the developer has configured one. */
const openLocalChain = async (initialConfig: Config): Promise<DevChain | string> => {
  if (process.argv.includes('--no-chain')) return 'none: --no-chain'
  if (initialConfig.X402_CHAIN_RPC !== undefined) return 'none: your X402_CHAIN_RPC is used'
  try {
    return (await openChain(initialConfig)) ?? 'none: npm has no anvil for this system'
  } catch (error) {
    return `none: anvil does not run here (${error instanceof Error ? error.message.slice(0, 200) : 'unknown'})`
  }
}

/** The key is publicly known and holds 1,000 test dollars. */
const buyCommand = (config: Config, buyerKey: string): string => `

  PAYER_PRIVATE_KEY=${buyerKey} \\
    npx pohf buy wf_test_ok --url ${config.BASE_URL}`

type ServiceUrls = {
  readonly demo: string
  readonly mails: string
  readonly checkout: string
  readonly chain: string
  readonly buy: string
}
type SeededKeys = { readonly apiKey: string; readonly operatorKey: string; readonly variablesFile: string }
const printWelcome = (config: Config, keys: SeededKeys, urls: ServiceUrls): void => {
  const { apiKey, operatorKey, variablesFile } = keys
  print(`
PoHF is ready.

  Sample site    ${urls.demo}   a form with the check: try it as a visitor
  Website        ${config.BASE_URL}   also the address of the API
  Verify         ${config.BASE_URL}/verify
  Console        ${config.BASE_URL}/console   for agents, with the test key below
  Work           ${config.BASE_URL}/work   for members
  Operators      ${config.OPERATOR_BASE_URL}/operator   with a passkey, at first with the operator key below
  Mails          ${urls.mails}
  Card simulator ${urls.checkout}
  Chain          ${urls.chain}
  OpenAPI        ${config.BASE_URL}/openapi.json
  Database       ${config.DATABASE_URL}
  Test key       ${apiKey}
  Operator key   ${operatorKey}

The addresses and keys as shell variables, for the examples of docs/:

  source ${variablesFile}

Try it:

  curl ${config.BASE_URL}/api/agents/verify -H 'Authorization: Bearer ${apiKey}' \\
    -H 'Content-Type: application/json' -d '{"sessionId":"my-first-session"}'${urls.buy}

Ctrl-C stops everything.`)
}

const printDemo = ({ DATA_DIR, BASE_URL }: Config): void => {
  const { live, ownerEmail, enrolUrl } = readDemo(DATA_DIR)
  print(`
Demo data: nothing of it is real. It is made anew a day after it was made, or when ${relative('', DATA_DIR)} is deleted.

  Live key       ${live.apiKey}   for ${BASE_URL}/console
  By mail        ${ownerEmail} at ${BASE_URL}/console: the link is in Mails
  Enrolment      ${enrolUrl}`)
}

type Stops = (() => Promise<void>)[]

/** Stops what was started, in reverse order, at the end or on a signal. */
const makeStops = () => {
  const stops: Stops = []
  const stopAll = async () => {
    for (const stop of stops.splice(0).toReversed()) await stop().catch(() => undefined)
  }
  let stopping = false
  const stopAndExit = () => {
    if (stopping) return
    stopping = true
    void stopAll().then(() => process.exit())
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stopAndExit)
  return { stops, stopAll, stopAndExit }
}

type Preparation = {
  readonly initialConfig: Config
  readonly base: NodeJS.ProcessEnv
  /** The folder whose PostgreSQL is used. */
  readonly clusterDir: string
  /** The database is made anew. */
  readonly isNew: boolean
}

/** DATABASE_URL may be missing here and nowhere else, so every other setting is checked before anything starts. */
const readInitialConfig = (environment: NodeJS.ProcessEnv): Config =>
  readConfig({
    ...environment,
    DATABASE_URL: environment['DATABASE_URL'] || 'postgres://placeholder/dev',
  })

/** Settings that would lead demo data into another database, to other keys or to real people. */
const foreignToDemo = [
  'DATABASE_URL',
  'STRIPE_SECRET_KEY',
  'KEYS_DIR',
  'SIGNER_URL',
  'SIGNER_SOCKET',
  'SIGNER_BACKEND',
  'SMTP_URL',
  'X402_CHAIN_RPC',
]

/** Demo data is in a folder and a database of their own, so that it never mixes with other data. */
const prepareDemo = (dataDir: string): Preparation => {
  for (const name of foreignToDemo)
    if (process.env[name]) throw new Error(`--demo makes data of its own: unset ${name}`)
  const base = {
    ...process.env,
    DATA_DIR: demoFolder(dataDir),
    DEMO_DATA: 'true',
    // Sessions without a credential are deleted after 90 days otherwise.
    SESSION_KEEP_DAYS: '400',
    PAYOUT_APPROVAL: 'on',
  }
  const initialConfig = readInitialConfig(base)
  return { initialConfig, base, clusterDir: dataDir, isNew: prepareDemoFolder(initialConfig) }
}

const prepare = (): Preparation => {
  const initialConfig = readInitialConfig(process.env)
  const clusterDir = initialConfig.DATA_DIR
  mkdirSync(clusterDir, { recursive: true, mode: 0o700 })
  return isDemo ? prepareDemo(clusterDir) : { initialConfig, base: process.env, clusterDir, isNew: false }
}

/** Starts what the server needs, and returns the environment that points to it. */
const startServices = async ({ initialConfig, base, clusterDir, isNew }: Preparation, stops: Stops) => {
  const databaseUrl = base['DATABASE_URL']
  const database = databaseUrl
    ? { url: databaseUrl, stop: async () => undefined }
    : await step('PostgreSQL', () => openDatabase(clusterDir, isNew))
  stops.push(database.stop)
  const unbuilt = withPages ? await step('pages and scripts', () => buildPages(['web', 'tag', 'docs', 'demo'])) : []
  for (const name of unbuilt) print(`  ! ${name} did not build; everything but that works`)
  const catcher = process.env['SMTP_URL']
    ? undefined
    : await step('mail catcher', async () => startMailCatcher({ smtp: await freePort(), http: 0 }))
  if (catcher) stops.push(catcher.stop)
  const cardSimulator = await step('card simulator', async () => startCardSimulator(initialConfig))
  if (cardSimulator) stops.push(cardSimulator.stop)
  const chain = await step('local chain', () => openLocalChain(initialConfig))
  if (typeof chain !== 'string') stops.push(chain.stop)
  const environment: NodeJS.ProcessEnv = {
    LOG_LEVEL: 'warn',
    DEMO_SITE: 'platform',
    ...(typeof chain === 'string' ? {} : chain.settings),
    ...base,
    DATABASE_URL: database.url,
    ...(catcher ? { SMTP_URL: `smtp://127.0.0.1:${catcher.smtpPort}` } : {}),
    ...cardSimulator?.settings,
  }
  return { environment, catcher, cardSimulator, chain }
}

const startServer = async (environment: NodeJS.ProcessEnv, config: Config, stops: Stops) => {
  const child = spawn(process.execPath, [fileURLToPath(new URL('../src/main.ts', import.meta.url))], {
    env: environment,
    stdio: 'inherit',
    detached: true,
  })
  stops.push(async () => {
    const ended = new Promise((resolve) => child.once('exit', resolve))
    if (child.exitCode === null && child.kill('SIGTERM')) await ended
  })
  await waitUntilReady(`http://127.0.0.1:${config.PORT}/readyz`, child)
  return child
}

const dev = async (): Promise<void> => {
  const { stops, stopAll, stopAndExit } = makeStops()
  const preparation = prepare()
  try {
    const { environment, catcher, cardSimulator, chain } = await startServices(preparation, stops)
    const config = readConfig(environment)
    if (preparation.isNew) await step('demo data of a year', () => seedDemo(environment, config.DATA_DIR))
    const server = await step('server', () => startServer(environment, config, stops))
    server.once('exit', stopAndExit)
    const chainDescription =
      typeof chain === 'string' ? chain : await chain.registerKeys(`http://127.0.0.1:${config.PORT}`)
    if (preparation.isNew && typeof chain !== 'string')
      await step('demo purchases', () => buyDemoUnits(config, chain.variables.PAYER_PRIVATE_KEY))
    const { apiKey, agentId } = await step('test agent', () => seedAgent(config))
    const site = { POHF_URL: config.BASE_URL, POHF_SITE: agentId, POHF_KEY: apiKey, PORT: '0' }
    const demo = withPages ? await step('sample site', () => startDemo(site)) : undefined
    if (demo) stops.push(demo.stop)
    const operatorKey = await step('operator', () => seedOperator(config, environment))
    const mailUrl = catcher && `http://127.0.0.1:${catcher.httpPort}`
    const variablesFile = writeDevVariables(config.DATA_DIR, {
      SIGNER_OPERATOR_SOCKET: config.SIGNER_OPERATOR_SOCKET,
      POHF_URL: config.BASE_URL,
      POHF_AGENT_ID: agentId,
      POHF_KEY: apiKey,
      POHF_OPERATOR_URL: `http://${config.OPERATOR_HOST}:${config.OPERATOR_PORT}`,
      POHF_OPERATOR_KEY: operatorKey,
      POHF_MAIL_URL: mailUrl,
      ...(typeof chain === 'string' ? {} : chain.variables),
    })
    printWelcome(
      config,
      { apiKey, operatorKey, variablesFile: relative('', variablesFile) },
      {
        demo: demo?.url ?? 'none: --no-pages',
        mails: mailUrl ?? 'sent by your SMTP_URL',
        chain: chainDescription,
        buy: typeof chain === 'string' ? '' : buyCommand(config, chain.variables.PAYER_PRIVATE_KEY),
        checkout: cardSimulator?.url ?? 'none: your STRIPE_SECRET_KEY is used',
      },
    )
    if (isDemo) printDemo(config)
  } catch (error) {
    await stopAll()
    throw error
  }
}

try {
  await dev()
} catch (error) {
  console.error(
    error instanceof ConfigFaults
      ? error.message
      : `npm run dev failed: ${error instanceof Error ? error.message : String(error)}`,
  )
  process.exit(1)
}
