// `npm run dev -- --demo`: a database and a folder of their own with a year of believable data.
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Config } from '../src/platform/ops/config.ts'
import { endOf, keepLog } from './child-log.ts'
import type { Progress } from './steps.ts'

export const demoDatabase = 'pohf_demo'
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
/** Only a folder with this file is deleted. */
const markerOf = (folder: string): string => join(folder, 'demo.txt')
const demoFile = (folder: string): string => join(folder, 'demo.json')

export const readDemo = (folder: string): DemoAccess =>
  JSON.parse(readFileSync(demoFile(folder), 'utf8')) as DemoAccess

/** Empties the folder unless it holds demo data of the last day for this address; true where the data must be made. */
export const prepareDemoFolder = ({ DATA_DIR: folder, BASE_URL }: Config): boolean => {
  if (existsSync(demoFile(folder))) {
    const { seededAt, baseUrl } = readDemo(folder)
    if (Date.now() - Date.parse(seededAt) < keptMs && baseUrl === BASE_URL) return false
  }
  if (existsSync(folder) && readdirSync(folder).length > 0 && !existsSync(markerOf(folder)))
    throw new Error(`${folder} holds something else than demo data: --demo would delete it`)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  writeFileSync(markerOf(folder), 'Demo data: npm run dev -- --demo deletes this folder and makes it anew.\n')
  return true
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

/**
 * Seeds the database in a process of its own, with the settings of the server. Where that fails, the folder has no access
 * to the demo, and the next start makes the data from the beginning.
 */
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
