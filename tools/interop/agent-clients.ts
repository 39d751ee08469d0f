// Other people's agent frameworks, unmodified, with a tool that our guard protects, against a server of ours.
// npm run battery -- guards [--report]
import { execFile } from 'node:child_process'
import { cpus, loadavg } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { createClient } from '@pohf/sdk'
import { startServer } from '../../packages/server/test/fixtures/processes/server.ts'
import { paddedTableOf } from '../ci/pages/markdown.ts'
import { today, writeReport } from '../report.ts'
import { installClients, installedVersion } from './foreign-clients.ts'

const { values } = parseArgs({ options: { report: { type: 'boolean', default: false } } })
const execute = promisify(execFile)
const folder = fileURLToPath(new URL('../../conformance/agent-clients', import.meta.url))

const frameworks = [
  { name: 'ai', package: 'ai', file: 'ai.mjs' },
  { name: 'openai-agents', package: '@openai/agents', file: 'openai-agents.mjs' },
  { name: 'langgraph', package: '@langchain/langgraph', file: 'langgraph.mjs' },
  { name: 'mcp', package: '@modelcontextprotocol/server', file: 'mcp.mjs' },
] as const
type Framework = (typeof frameworks)[number]

type Scenario = {
  readonly name: string
  readonly environment: Readonly<Record<string, string>>
  readonly runs: boolean
  /** What the model must be told. */
  readonly told: RegExp
}
const scenarios: readonly Scenario[] = [
  {
    name: 'a person approves',
    environment: { APPROVER: 'apv_test_approves' },
    runs: true,
    told: /paid 120\.00/,
  },
  { name: 'a person denies', environment: { APPROVER: 'apv_test_denies' }, runs: false, told: /denied/ },
  {
    name: 'nobody decides',
    environment: { APPROVER: 'apv_test_silent', TIMEOUT_MS: '1500' },
    runs: false,
    told: /Nobody decided in time/,
  },
  {
    name: 'the service is away',
    environment: { APPROVER: 'apv_test_approves', BASE_URL: 'http://127.0.0.1:9', TIMEOUT_MS: '1500' },
    runs: false,
    told: /No approval could be obtained/,
  },
]

type Outcome = {
  readonly framework: Framework
  readonly scenario: Scenario
  readonly fault: string | undefined
  readonly seconds: number
}

const faultOf = ({ runs, told }: Scenario, stdout: string): string | undefined => {
  const said = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as { ran: unknown[]; told: string }
  const expected = runs ? [{ amount: '120.00', to: 'DE02120300000000202051' }] : []
  if (JSON.stringify(said.ran) !== JSON.stringify(expected)) return `ran ${JSON.stringify(said.ran)}`
  return told.test(said.told) ? undefined : `the model was told ${said.told.slice(0, 500)}`
}

const runClient = async (
  framework: Framework,
  scenario: Scenario,
  environment: Readonly<Record<string, string>>,
): Promise<Outcome> => {
  const startedAt = performance.now()
  const fault = await execute(process.execPath, [join(folder, 'clients', framework.file)], {
    cwd: folder,
    timeout: 120_000,
    env: { ...process.env, ...environment, ...scenario.environment },
  }).then(
    ({ stdout }) => faultOf(scenario, stdout),
    (error: unknown) => String(error).slice(0, 3_000),
  )
  return { framework, scenario, fault, seconds: (performance.now() - startedAt) / 1_000 }
}

const reportOf = (outcomes: readonly Outcome[]): string => `# Guarded tools in agent frameworks, ${today()}

Question: does a tool that \`@pohf/sdk/approvals\` guards run in other people's frameworks exactly when a person approved it, and is
the model told why where it did not?

Command: \`npm run battery -- guards --report\`. ${cpus().length} cores; average load of the last five minutes
${loadavg()[1]?.toFixed(1)}. The versions are those of \`conformance/agent-clients/package-lock.json\`. The server is started for the
run. A model with prepared answers calls the tool once; the approvers are the simulated ones of the sandbox.

${paddedTableOf(
  ['Framework', 'Scenario', 'The tool', 'Result', 'Seconds'],
  outcomes.map(({ framework, scenario, fault, seconds }) => [
    `${framework.package} ${installedVersion(folder, framework.package)}`,
    scenario.name,
    scenario.runs ? 'runs once' : 'does not run',
    fault === undefined ? 'passes' : 'fails',
    seconds.toFixed(1),
  ]),
)}

Not shown: models that decide by themselves, streamed runs, and people who decide on the page. The seconds contain the start of a
process and of the framework.
`

installClients(folder)
const server = await startServer()
try {
  const registered = await createClient({ baseUrl: server.baseUrl }).agents.register({
    name: 'Guarded tools',
    contactEmail: 'guards@example.com',
    mode: 'test',
  })
  const environment = { BASE_URL: server.baseUrl, API_KEY: registered.apiKey }
  const outcomes: Outcome[] = []
  for (const framework of frameworks)
    for (const scenario of scenarios) {
      const outcome = await runClient(framework, scenario, environment)
      outcomes.push(outcome)
      const { fault, seconds } = outcome
      console.log(
        `${fault === undefined ? '✓' : '✗'} ${framework.name}: ${scenario.name} (${seconds.toFixed(1)} s)${fault === undefined ? '' : `\n${fault}`}`,
      )
    }
  const failed = outcomes.filter(({ fault }) => fault !== undefined).length
  if (values.report) writeReport('guards.md', reportOf(outcomes))
  console.log(`${outcomes.length - failed} of ${outcomes.length} pass`)
  if (failed > 0) process.exitCode = 1
} finally {
  await server.stop()
}
