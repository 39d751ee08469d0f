// `npm run dev`: everything a developer needs, on this machine, from nothing.
import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { startCheckoutSimulator, type CheckoutSimulator } from '@pohf/checkout-simulator'
import { ConfigFaults, readConfig, type Config } from '../src/platform/ops/config.ts'
import { buildPages } from './build-pages.ts'
import { endOf, keepLog, waitUntilReady } from './child-log.ts'
import { openChain, type DevChain } from './chain.ts'
import { clusterFolder, devDatabase, runningPort } from './cluster-folder.ts'
import { createDatabase, startCluster } from './cluster.ts'
import {
  buyDemoUnits,
  demoDatabase,
  demoFolder,
  newDemoDatabase,
  readDemo,
  renewDemo,
  seedDemo,
} from './demo.ts'
import { seedOperator, writeDevVariables } from './dev-variables.ts'
import { startMailCatcher } from './mail-catcher.ts'
import { portsOf, requirePorts, type Listener } from './ports.ts'
import { makeSteps, type Progress } from './steps.ts'
import { demoNoteOf, startedJson, welcomeOf, type StartedDevelopment } from './welcome.ts'

// Node 22 warns in each process that it runs TypeScript, which is nothing that a developer could change.
process.env['NODE_OPTIONS'] =
  `${process.env['NODE_OPTIONS'] ?? ''} --disable-warning=ExperimentalWarning`.trim()

// Modules that Node has compiled once are not compiled at the next start: the server then takes a third less CPU to start.
process.env['NODE_COMPILE_CACHE'] ||= fileURLToPath(
  new URL('../../../node_modules/.cache/pohf-dev', import.meta.url),
)

const isJson = process.argv.includes('--json')
/** With --json, standard output has one object and nothing else. */
const output = isJson ? process.stderr : process.stdout
const print = (line: string) => output.write(`${line}\n`)
const step = makeSteps(output)

const isDemo = process.argv.includes('--demo')
const databaseName = isDemo ? demoDatabase : devDatabase
const withPages = !process.argv.includes('--no-pages')

/** The PostgreSQL of this folder, which an earlier start may have left running. */
const openCluster = async (
  clusterDir: string,
  port: number,
): Promise<{ urlOf: (database: string) => string; stop: () => Promise<void> }> => {
  const folder = clusterFolder(clusterDir)
  const known = await runningPort(folder)
  const cluster = known === undefined ? await startCluster({ folder, port, detached: true }) : undefined
  return {
    urlOf: (name) => `postgres://postgres@127.0.0.1:${known ?? port}/${name}`,
    stop: async () => cluster?.stop(),
  }
}

const openDatabase = async (urlOf: (database: string) => string): Promise<string> => {
  const client = new Client({ connectionString: urlOf('postgres') })
  await client.connect()
  const { rowCount } = await client.query('select from pg_database where datname = $1', [databaseName])
  await client.end()
  if (rowCount === 0) await createDatabase({ url: urlOf }, databaseName)
  return urlOf(databaseName)
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

/** Ctrl-C ends within two seconds: what is not finished then is development data. */
const clientsEndMs = 1_200
const servicesEndMs = 500

const waitAtMost = async (ms: number, ended: Promise<unknown>): Promise<void> => {
  await Promise.race([ended, sleep(ms, undefined, { ref: false })])
}

/** Ends a process that has a group of its own, with everything that it started. */
const endGroup = async (child: ChildProcess): Promise<void> => {
  if (child.pid === undefined) return
  if (child.exitCode === null && child.signalCode === null) {
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGTERM')
    await waitAtMost(clientsEndMs, ended)
  }
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    // Nothing of it is left.
  }
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
  return { url, stop: () => endGroup(child) }
}

/** Starts the card simulator, unless the developer has configured a card provider. */
const startCardSimulator = (initialConfig: Config, port: number): Promise<CheckoutSimulator> | undefined =>
  initialConfig.STRIPE_SECRET_KEY === undefined
    ? startCheckoutSimulator({
        port,
        webhookUrl: `http://127.0.0.1:${initialConfig.PORT}/api/payments/card/webhook`,
        folder: initialConfig.DATA_DIR,
      })
    : undefined

/** Starts a local chain, unless the developer has configured one. */
const openLocalChain = async (initialConfig: Config, port: number): Promise<DevChain | string> => {
  if (process.argv.includes('--no-chain')) return 'none: --no-chain'
  if (initialConfig.X402_CHAIN_RPC !== undefined) return 'none: your X402_CHAIN_RPC is used'
  try {
    return (await openChain(initialConfig, { port })) ?? 'none: npm has no anvil for this system'
  } catch (error) {
    return `none: anvil does not run here (${error instanceof Error ? error.message.slice(0, 200) : 'unknown'})`
  }
}

type Stop = () => Promise<void>
type Stops = {
  /** The server and its clients, which end first: whoever calls a service that has ended logs an error. */
  readonly clients: Stop[]
  readonly services: Stop[]
}

const endAll = (list: Stop[]) => Promise.all(list.splice(0).map((stop) => stop().catch(() => undefined)))

/** Stops what was started, at the end or on a signal. */
const makeStops = () => {
  const stops: Stops = { clients: [], services: [] }
  const stopAll = async () => {
    await endAll(stops.clients)
    // PostgreSQL has its own process group, so it finishes its shutdown after this process if it takes longer.
    await waitAtMost(servicesEndMs, endAll(stops.services))
  }
  let stopping = false
  const stopAndExit = (code: number, readReport?: () => Promise<string>) => {
    if (stopping) return
    stopping = true
    const end = async () => {
      if (readReport) console.error(await readReport())
      await stopAll()
      process.exit(code)
    }
    void end()
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopAndExit(0))
  return { stops, stopAll, stopAndExit, isStopping: () => stopping }
}

type Preparation = {
  readonly initialConfig: Config
  readonly base: NodeJS.ProcessEnv
  /** The folder whose PostgreSQL is used. */
  readonly clusterDir: string
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
    // The orders of the demo data have no operator who reads them.
    ORDER_REVIEWS: '0',
    // Sessions without a credential are deleted after 90 days otherwise.
    SESSION_KEEP_DAYS: '400',
    PAYOUT_APPROVAL: 'on',
  }
  const initialConfig = readInitialConfig(base)
  return { initialConfig, base, clusterDir: dataDir }
}

const prepare = (): Preparation => {
  const initialConfig = readInitialConfig(process.env)
  const clusterDir = initialConfig.DATA_DIR
  mkdirSync(clusterDir, { recursive: true, mode: 0o700 })
  return isDemo ? prepareDemo(clusterDir) : { initialConfig, base: process.env, clusterDir }
}

/** The listeners that this start needs. PostgreSQL of an earlier start may still have its port. */
const wantedListeners = async ({ initialConfig, base, clusterDir }: Preparation): Promise<Listener[]> => {
  const needsDatabase = !base['DATABASE_URL'] && (await runningPort(clusterFolder(clusterDir))) === undefined
  const isWanted: Readonly<Record<Listener, boolean>> = {
    API: true,
    operators: true,
    'sample site': withPages,
    mails: initialConfig.SMTP_URL === undefined,
    SMTP: initialConfig.SMTP_URL === undefined,
    'card simulator': initialConfig.STRIPE_SECRET_KEY === undefined,
    chain: !process.argv.includes('--no-chain') && initialConfig.X402_CHAIN_RPC === undefined,
    PostgreSQL: needsDatabase,
  }
  return (Object.keys(isWanted) as Listener[]).filter((listener) => isWanted[listener])
}

type Surroundings = {
  readonly portOf: (listener: Listener) => number
  readonly mailSettings: Readonly<Record<string, string>>
}
const logSettings = { LOG_LEVEL: 'warn', DEMO_SITE: 'platform' }

/** Makes the demo data where there are none of the last day; true where it made them. */
const openDemo = async (
  { initialConfig, base, clusterDir }: Preparation,
  urlOf: (database: string) => string,
  { portOf, mailSettings, services }: Surroundings & Pick<Stops, 'services'>,
): Promise<boolean> => {
  const installation = { dataDir: clusterDir, baseUrl: initialConfig.BASE_URL, urlOf }
  const { isNew, fault } = await renewDemo(installation, (folder) =>
    step('demo data of a year', async (progress) => {
      const config = { ...initialConfig, DATA_DIR: folder }
      const cardSimulator = await startCardSimulator(config, portOf('card simulator'))
      if (cardSimulator) services.push(cardSimulator.stop)
      const settings = { ...mailSettings, ...cardSimulator?.settings, DATA_DIR: folder }
      const environment = { ...logSettings, ...base, ...settings, DATABASE_URL: urlOf(newDemoDatabase) }
      try {
        await seedDemo(environment, folder, progress)
      } finally {
        // The start that follows uses its port and its files.
        await cardSimulator?.stop()
      }
    }),
  )
  if (fault !== undefined) print(`  ! ${fault}`)
  return isNew
}

/** The database of this start, in the PostgreSQL that npm run dev runs itself. */
const openOwnDatabase = async (
  preparation: Preparation,
  surroundings: Surroundings & Pick<Stops, 'services'>,
): Promise<{ url: string; isNewDemo: boolean }> => {
  const port = surroundings.portOf('PostgreSQL')
  const { urlOf, stop } = await step('PostgreSQL', () => openCluster(preparation.clusterDir, port))
  surroundings.services.push(stop)
  const isNewDemo = isDemo && (await openDemo(preparation, urlOf, surroundings))
  return { url: await openDatabase(urlOf), isNewDemo }
}

/** Starts what the server needs, and returns the environment that points to it. */
const startServices = async (preparation: Preparation, { services }: Stops) => {
  const { initialConfig, base } = preparation
  const portOf = portsOf(initialConfig)
  await requirePorts(portOf, await wantedListeners(preparation))
  const catcher =
    initialConfig.SMTP_URL === undefined
      ? await step('mail catcher', async () =>
          startMailCatcher({ smtp: portOf('SMTP'), http: portOf('mails') }),
        )
      : undefined
  if (catcher) services.push(catcher.stop)
  const mailSettings: Record<string, string> = catcher
    ? { SMTP_URL: `smtp://127.0.0.1:${catcher.smtpPort}` }
    : {}
  const unbuilt = withPages
    ? await step('pages and scripts', () => buildPages(['web', 'tag', 'docs', 'demo']))
    : []
  for (const name of unbuilt) print(`  ! ${name} did not build; everything but that works`)
  const databaseUrl = base['DATABASE_URL']
  const database = databaseUrl
    ? { url: databaseUrl, isNewDemo: false }
    : await openOwnDatabase(preparation, { portOf, mailSettings, services })
  const cardSimulator = await step('card simulator', async () =>
    startCardSimulator(initialConfig, portOf('card simulator')),
  )
  if (cardSimulator) services.push(cardSimulator.stop)
  const chain = await step('local chain', () => openLocalChain(initialConfig, portOf('chain')))
  if (typeof chain !== 'string') services.push(chain.stop)
  const environment: NodeJS.ProcessEnv = {
    ...logSettings,
    ...(typeof chain === 'string' ? {} : chain.settings),
    ...base,
    DATABASE_URL: database.url,
    ...mailSettings,
    ...cardSimulator?.settings,
  }
  const { isNewDemo } = database
  return { environment, catcher, cardSimulator, chain, isNewDemo, sitePort: portOf('sample site') }
}

const startServer = async (
  { environment, config }: { readonly environment: NodeJS.ProcessEnv; readonly config: Config },
  stops: Stops,
  progress: Progress,
) => {
  const child = spawn(process.execPath, [fileURLToPath(new URL('../src/main.ts', import.meta.url))], {
    env: environment,
    stdio: ['inherit', 'pipe', 'pipe'],
    detached: true,
  })
  stops.clients.push(() => endGroup(child))
  const log = keepLog(child, {
    streams: ['stdout', 'stderr'],
    show: ({ text, stream }) => (stream === 'stderr' ? process.stderr : output).write(`${text}\n`),
  })
  await waitUntilReady(`http://127.0.0.1:${config.PORT}/readyz`, child, { log, progress })
  return { child, log }
}

type Services = Awaited<ReturnType<typeof startServices>>

/** Starts the sample site, makes the operator and writes the variables. */
const prepareAccess = async (
  { clusterDir }: Preparation,
  { config, services }: { readonly config: Config; readonly services: Services },
  { clients }: Stops,
): Promise<StartedDevelopment> => {
  const { environment, catcher, cardSimulator, chain, sitePort } = services
  const chainDescription =
    typeof chain === 'string' ? chain : await chain.registerKeys(`http://127.0.0.1:${config.PORT}`)
  const { apiKey, agentId } = await step('test agent', () => seedAgent(config))
  const site = { POHF_URL: config.BASE_URL, POHF_SITE: agentId, POHF_KEY: apiKey, PORT: String(sitePort) }
  const demo = withPages ? await step('sample site', () => startDemo(site)) : undefined
  if (demo) clients.push(demo.stop)
  const operatorKey = await step('operator', () => seedOperator(config, environment))
  const mailUrl = catcher && `http://127.0.0.1:${catcher.httpPort}`
  // The documents name this one file, so it is of the start that runs, with or without --demo.
  const variablesFile = writeDevVariables(clusterDir, {
    SIGNER_OPERATOR_SOCKET: config.SIGNER_OPERATOR_SOCKET,
    POHF_URL: config.BASE_URL,
    POHF_AGENT_ID: agentId,
    POHF_KEY: apiKey,
    POHF_LIVE_KEY: isDemo ? readDemo(config.DATA_DIR).live.apiKey : undefined,
    POHF_OPERATOR_URL: `http://${config.OPERATOR_HOST}:${config.OPERATOR_PORT}`,
    POHF_OPERATOR_KEY: operatorKey,
    POHF_MAIL_URL: mailUrl,
    ...(typeof chain === 'string' ? {} : chain.variables),
  })
  return {
    config,
    apiKey,
    agentId,
    operatorKey,
    variablesFile,
    site: demo?.url ?? 'none: --no-pages',
    mails: mailUrl ?? 'sent by your SMTP_URL',
    checkout: cardSimulator?.url ?? 'none: your STRIPE_SECRET_KEY is used',
    chain: chainDescription,
    payerKey: typeof chain === 'string' ? undefined : chain.variables.PAYER_PRIVATE_KEY,
  }
}

const dev = async (): Promise<void> => {
  const { stops, stopAll, stopAndExit, isStopping } = makeStops()
  const preparation = prepare()
  try {
    const services = await startServices(preparation, stops)
    const { environment, chain, isNewDemo } = services
    const config = readConfig(environment)
    const server = await step('server', (progress) => startServer({ environment, config }, stops, progress))
    server.child.once('exit', () =>
      stopAndExit(1, async () => `\nThe server ${endOf(server.child)}. ${await server.log.readEnd()}`),
    )
    if (isNewDemo && typeof chain !== 'string')
      await step('demo purchases', () => buyDemoUnits(config, chain.variables.PAYER_PRIVATE_KEY))
    const started = await prepareAccess(preparation, { config, services }, stops)
    print(welcomeOf(started))
    if (isDemo) print(demoNoteOf(config))
    if (isJson) console.log(startedJson(started))
  } catch (error) {
    // The start was stopped: an error that follows from that is not reported.
    if (isStopping()) return
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
