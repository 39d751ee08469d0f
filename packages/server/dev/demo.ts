// `npm run dev -- --demo`: a database and a folder of their own with a year of believable data.
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import type { Config } from '../src/platform/ops/config.ts'
import { endOf, keepLog } from './child-log.ts'
import { createDatabase } from './cluster.ts'
import type { Progress } from './steps.ts'

export const demoDatabase = 'pohf_demo'
/** New data are made in this database, and take the place of the demo when they are complete. */
export const newDemoDatabase = 'pohf_demo_new'
const keptMs = 86_400_000

/** What the pages of the demo are opened with. */
export type DemoAccess = {
  readonly seededAt: string
  /** The issuer of the credentials. */
  readonly baseUrl: string
  readonly live: { readonly apiKey: string }
  readonly test: { readonly apiKey: string; readonly agentId: string }
  readonly ownerEmail: string
  readonly operatorKeys: readonly [string, string]
  readonly enrolUrl: string
  readonly workerCookie: string
  readonly memberCookie: string
  readonly recordingId: string
  readonly results: Readonly<Record<'accepted' | 'rejected' | 'appealed' | 'notVerified', string>>
}

export const demoFolder = (dataDir: string): string => join(dataDir, 'demo')
export const newDemoFolder = (dataDir: string): string => join(dataDir, 'demo-new')
/** Only a folder with this file is deleted. */
const markerOf = (folder: string): string => join(folder, 'demo.txt')
/** It is written last: a folder that has it is complete. */
const demoFile = (folder: string): string => join(folder, 'demo.json')

export const readDemo = (folder: string): DemoAccess =>
  JSON.parse(readFileSync(demoFile(folder), 'utf8')) as DemoAccess

const requireDemoFolder = (folder: string): void => {
  if (existsSync(folder) && readdirSync(folder).length > 0 && !existsSync(markerOf(folder)))
    throw new Error(`${folder} holds something else than demo data: --demo would delete it`)
}
const deleteFolder = (folder: string): void => {
  requireDemoFolder(folder)
  rmSync(folder, { recursive: true, force: true })
}

type DemoInstallation = {
  readonly dataDir: string
  /** The issuer of the credentials. */
  readonly baseUrl: string
  /** The address of a database in the cluster of npm run dev. */
  readonly urlOf: (database: string) => string
}

const withClient = async <T>(
  { urlOf }: DemoInstallation,
  work: (client: Client) => Promise<T>,
): Promise<T> => {
  const client = new Client({ connectionString: urlOf('postgres') })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
const hasDatabase = async (client: Client, name: string): Promise<boolean> =>
  (await client.query('select from pg_database where datname = $1', [name])).rowCount === 1

/** Lets new data take the place of the demo where they are complete. What an interrupted start left, the next one does. */
const replaceDemo = async (installation: DemoInstallation): Promise<void> => {
  const [folder, newFolder] = [demoFolder(installation.dataDir), newDemoFolder(installation.dataDir)]
  if (!existsSync(demoFile(newFolder))) return
  await withClient(installation, async (client) => {
    if (!(await hasDatabase(client, newDemoDatabase))) return
    // A connection would keep the new one from its name, when the old one is gone already.
    await client.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [
      newDemoDatabase,
    ])
    await client.query(`drop database if exists ${demoDatabase} with (force)`)
    await client.query(`alter database ${newDemoDatabase} rename to ${demoDatabase}`)
  })
  deleteFolder(folder)
  renameSync(newFolder, folder)
}

/** When the demo for this address was made; undefined where there is none. */
const readMadeAt = async (installation: DemoInstallation): Promise<Date | undefined> => {
  const folder = demoFolder(installation.dataDir)
  if (!existsSync(demoFile(folder))) return undefined
  const { seededAt, baseUrl } = readDemo(folder)
  const isThere = await withClient(installation, (client) => hasDatabase(client, demoDatabase))
  return isThere && baseUrl === installation.baseUrl ? new Date(seededAt) : undefined
}

const prepareNewDemo = async (installation: DemoInstallation): Promise<string> => {
  const folder = newDemoFolder(installation.dataDir)
  deleteFolder(folder)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  writeFileSync(markerOf(folder), 'Demo data: npm run dev -- --demo deletes this folder and makes it anew.\n')
  await withClient(installation, (client) =>
    client.query(`drop database if exists ${newDemoDatabase} with (force)`),
  )
  await createDatabase({ url: installation.urlOf }, newDemoDatabase)
  return folder
}

/**
 * Makes the demo anew where there is none of the last day for this address. What fails loses nothing: the demo that was
 * there stays, and is used if it is for this address.
 */
export const renewDemo = async (
  installation: DemoInstallation,
  make: (folder: string) => Promise<void>,
): Promise<{ readonly isNew: boolean; readonly fault?: string }> => {
  requireDemoFolder(demoFolder(installation.dataDir))
  await replaceDemo(installation)
  const madeAt = await readMadeAt(installation)
  if (madeAt && Date.now() - madeAt.getTime() < keptMs) return { isNew: false }
  try {
    await make(await prepareNewDemo(installation))
    await replaceDemo(installation)
    return { isNew: true }
  } catch (error) {
    if (!madeAt) throw error
    const reason = error instanceof Error ? error.message : String(error)
    return {
      isNew: false,
      fault: `new demo data could not be made, so this is the demo of ${madeAt.toISOString()}: ${reason}`,
    }
  }
}

/** Runs a program of the repository, which prints one line of JSON. What else it writes is its progress. */
const runProgram = async (
  path: string,
  parameters: readonly string[],
  { env, progress }: { readonly env: NodeJS.ProcessEnv; readonly progress?: Progress },
): Promise<string> => {
  const file = fileURLToPath(new URL(`../../../${path}`, import.meta.url))
  const child = spawn(process.execPath, [file, ...parameters], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const log = keepLog(child, { streams: ['stderr'], show: ({ text }) => progress?.describe(text.trim()) })
  log.release(true)
  const ended = new Promise((resolve) => child.once('exit', resolve))
  const [printed] = await Promise.all([text(child.stdout), ended])
  if (!printed.startsWith('{'))
    throw new Error(`${path} printed no result: it ${endOf(child)}. ${await log.readEnd()}`)
  return printed
}

/** Buys units with the wallet of the local chain, which has no clock that can be set: they are of today. */
export const buyDemoUnits = async ({ DATA_DIR, BASE_URL }: Config, payerKey: string): Promise<void> => {
  const { test } = readDemo(DATA_DIR)
  for (let n = 0; n < 3; n++)
    await runProgram('packages/cli/src/main.ts', ['buy', 'wf_test_ok', '--url', BASE_URL, '--json'], {
      env: { ...process.env, POHF_KEY: test.apiKey, PAYER_PRIVATE_KEY: payerKey },
    })
}

/** Seeds the new database in a process of its own, with the settings of the server. */
export const seedDemo = async (
  environment: NodeJS.ProcessEnv,
  folder: string,
  progress: Progress,
): Promise<void> => {
  const printed = await runProgram('tools/demo/main.ts', [], { env: environment, progress })
  const { test, operatorKeys } = JSON.parse(printed) as DemoAccess
  // The agent and the operator of this start are those of the demo.
  writeFileSync(join(folder, 'dev-agent.json'), JSON.stringify(test), { mode: 0o600 })
  writeFileSync(join(folder, 'dev-operator.json'), JSON.stringify({ operatorKey: operatorKeys[0] }), {
    mode: 0o600,
  })
  writeFileSync(demoFile(folder), printed, { mode: 0o600 })
}
