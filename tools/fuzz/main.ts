// Lets schemathesis send valid and invalid requests to every operation of /openapi.json and holds each answer against the
// document. npm run battery -- fuzz [--requests 5000 --seed 1 --base-url URL --json]
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startServer } from '../../packages/server/test/fixtures/processes/server.ts'
import { findPython, installSchemathesis } from './install.ts'

const { values: options } = parseArgs({
  options: {
    requests: { type: 'string', default: '5000' },
    seed: { type: 'string', default: String(process.pid) },
    'base-url': { type: 'string' },
    json: { type: 'boolean', default: false },
  },
})
const requestsWanted = Number(options.requests)

/** Operations that end the caller's own key would leave the rest of the run unauthenticated. */
const keyEndingPaths = ['/api/agents/keys/rotate', '/api/agents/keys/revoke']

/** Its database of examples would make two runs with one seed differ. */
const fixedParameters =
  '--checks documented --continue-on-failure --no-shrink --generation-database none --generation-with-security-parameters false --suppress-health-check all --request-timeout 20 --warnings off --no-color'

const register = async (baseUrl: string, mode: 'test' | 'live'): Promise<string> => {
  const response = await fetch(`${baseUrl}/api/agents/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Fuzz', contactEmail: 'fuzz@example.com', mode }),
  })
  const { apiKey } = (await response.json()) as { apiKey?: string }
  if (apiKey === undefined) throw new Error(`${baseUrl} registered no agent: status ${response.status}`)
  return apiKey
}

/** Its generator knows no classes of Unicode that are negated. Cc is the control characters of ASCII and Latin-1. */
const readDocument = async (baseUrl: string): Promise<string> =>
  (await (await fetch(`${baseUrl}/openapi.json`)).text()).replaceAll(
    String.raw`\\P{Cc}`,
    String.raw`[^\\x00-\\x1f\\x7f-\\x9f]`,
  )

type Tally = {
  readonly serverErrors: number
  readonly undocumented: number
  readonly schemaViolations: number
  readonly statuses: Readonly<Record<string, number>>
  readonly operations: number
}
type Round = { readonly number: number; readonly examples: number; readonly phases: string }

const python = findPython()
if (python === undefined) {
  console.log('Random requests are left out: there is no Python 3.11 with venv and pip (python3-venv).')
  process.exit()
}
const schemathesis = installSchemathesis(python)
const folder = mkdtempSync(join(tmpdir(), 'pohf-fuzz-'))
const server =
  options['base-url'] === undefined ? await startServer({ KEY_LIMIT_PER_MINUTE: '10000000' }) : undefined
const baseUrl = options['base-url'] ?? server?.baseUrl ?? ''
try {
  const document = join(folder, 'openapi.json')
  const tallyFile = join(folder, 'tally.json')
  writeFileSync(document, await readDocument(baseUrl))
  const settings = {
    tally: tallyFile,
    // Mostly the first: every operation answers it.
    callers: [await register(baseUrl, 'test'), await register(baseUrl, 'live'), null, 'svc_live_nonsense'],
    keyEndingPaths,
    ownKey: await register(baseUrl, 'test'),
  }
  const run = ({ number, examples, phases }: Round): Tally & { readonly passed: boolean } => {
    const seed = Number(options.seed) + number
    rmSync(tallyFile, { force: true })
    const { status } = spawnSync(
      schemathesis,
      `run ${document} --url ${baseUrl} --phases ${phases} --max-examples ${examples} --seed ${seed} ${fixedParameters}`.split(
        ' ',
      ),
      {
        stdio: 'inherit',
        cwd: folder,
        env: {
          ...process.env,
          SCHEMATHESIS_HOOKS: 'hooks',
          PYTHONPATH: import.meta.dirname,
          PYTHONDONTWRITEBYTECODE: '1',
          FUZZ_SETTINGS: JSON.stringify({ ...settings, seed }),
        },
      },
    )
    if (!existsSync(tallyFile))
      throw new Error(`schemathesis ended with code ${status} before its first request`)
    return { ...(JSON.parse(readFileSync(tallyFile, 'utf8')) as Tally), passed: status === 0 }
  }

  const total = {
    requests: 0,
    accepted: 0,
    serverErrors: 0,
    undocumented: 0,
    schemaViolations: 0,
    passed: true,
  }
  const statuses = new Map<string, number>()
  const operations = Object.values(
    (JSON.parse(readFileSync(document, 'utf8')) as { paths: Record<string, object> }).paths,
  ).reduce((sum, methods) => sum + Object.keys(methods).length, 0)
  // An operation without parameters has fewer examples than it may, so that a round may send too few.
  for (let number = 0; total.requests < requestsWanted && number < 20; number++) {
    const examples = Math.ceil(((requestsWanted - total.requests) * 1.25) / operations)
    // The cases of coverage are always the same: each keyword broken once, 6,600 in all.
    const phases = number === 0 && requestsWanted >= 10_000 ? 'coverage' : 'fuzzing'
    const tally = run({ number, examples, phases })
    for (const [status, count] of Object.entries(tally.statuses)) {
      statuses.set(status, (statuses.get(status) ?? 0) + count)
      total.requests += count
      if (status.startsWith('2')) total.accepted += count
    }
    total.serverErrors += tally.serverErrors
    total.undocumented += tally.undocumented
    total.schemaViolations += tally.schemaViolations
    total.passed &&= tally.passed && tally.operations === operations
  }
  const { requests, accepted, serverErrors, undocumented, schemaViolations, passed } = total
  const shown = [...statuses].toSorted(([a], [b]) => Number(a) - Number(b)).map((one) => one.join(': '))
  console.log(`\n${requests} requests over ${operations} operations, seed ${options.seed}`)
  console.log(`answers  ${shown.join('  ')}`)
  console.log(
    `${serverErrors} server errors, ${undocumented} undocumented, ${schemaViolations} schema violations`,
  )
  if (options.json) console.log(JSON.stringify({ requests, serverErrors, undocumented, schemaViolations }))
  // A run that saw only refusals has tested authentication and validation, not the operations.
  if (!passed || requests < requestsWanted || accepted < requests / 50) process.exitCode = 1
} finally {
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
}
