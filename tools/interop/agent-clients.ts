// Other people's agent frameworks, unmodified, with a tool that our guard protects, against a server of ours.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createClient } from '@pohf/sdk'
import { startServer } from '../../packages/server/test/fixtures/processes/server.ts'
import { closingAfter } from '../driver/closing.ts'
import { runProgram, starting, step } from '../driver/program.ts'
import { tableOfRecords } from '../driver/report.ts'
import { rounded } from '../driver/rounds.ts'
import { installClients, installedVersion } from './foreign-clients.ts'

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

await runProgram({
  command: 'battery -- guards',
  title: 'Guarded tools in agent frameworks',
  about:
    "Question: does a tool that `@pohf/sdk/approvals` guards run in other people's frameworks exactly when a person approved it, and is the model told why where it did not? The versions are those of `conformance/agent-clients/package-lock.json`. The server is started for the run. A model with prepared answers calls the tool once; the approvers are the simulated ones of the sandbox.\n\nNot shown: models that decide by themselves, streamed runs, and people who decide on the page. The seconds contain the start of a process and of the framework.",
  options: {},
  minutes: () => 60,
  run: () =>
    closingAfter(async (defer) => {
      starting('the clients and a server')
      installClients(folder)
      const server = await startServer()
      defer(server.stop)
      const registered = await createClient({ baseUrl: server.baseUrl }).agents.register({
        name: 'Guarded tools',
        contactEmail: 'guards@example.com',
        mode: 'test',
      })
      const environment = { BASE_URL: server.baseUrl, API_KEY: registered.apiKey }
      const outcomes: Outcome[] = []
      for (const framework of frameworks)
        for (const scenario of scenarios) {
          step(`${framework.name}: ${scenario.name}`)
          outcomes.push(await runClient(framework, scenario, environment))
        }
      const shown = outcomes.map(({ framework, scenario, fault, seconds }) => ({
        Framework: `${framework.package} ${installedVersion(folder, framework.package)}`,
        Scenario: scenario.name,
        'The tool': scenario.runs ? 'runs once' : 'does not run',
        Result: fault === undefined ? 'passes' : 'fails',
        Seconds: rounded(seconds),
      }))
      const faults = outcomes.flatMap(({ framework, scenario, fault }) =>
        fault === undefined ? [] : [`${framework.name}: ${scenario.name}: ${fault}`],
      )
      return {
        figures: { passed: outcomes.length - faults.length, failed: faults.length, outcomes: shown },
        tables: [tableOfRecords(shown)],
        faults,
        holds: `${outcomes.length} pass`,
      }
    }),
})
