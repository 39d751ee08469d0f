import { readdirSync, readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { z } from 'zod'
import { isLoopbackHost } from '../../packages/server/src/platform/net/loopback.ts'
import { send } from '../../packages/server/src/platform/net/outbound.ts'
import { reasonOf, StepFailure, type Input } from './steps.ts'

const workflowsFolder = new URL('../../.github/workflows/', import.meta.url)
const workflow = z.looseObject({
  on: z.union([z.string(), z.array(z.unknown()), z.looseObject({})]),
  jobs: z.record(z.string(), z.looseObject({ 'runs-on': z.unknown(), steps: z.array(z.unknown()).min(1) })),
})
const repositorySchema = z.looseObject({
  default_branch: z.string(),
  visibility: z.string(),
  owner: z.looseObject({ login: z.string(), type: z.string() }),
})
const runsSchema = z.looseObject({
  workflow_runs: z.array(
    z.looseObject({ conclusion: z.string().nullable(), created_at: z.string(), html_url: z.string() }),
  ),
})
const reportingSchema = z.looseObject({ enabled: z.boolean() })
const listSchema = z.array(z.looseObject({}))

const answerBytesMax = 5_000_000
const timeoutMs = 15_000

type Repository = { readonly api: string; readonly name: string; readonly token: string }

const adviceOf = (status: number): string => {
  if (status === 401) return 'Create a token for this repository, and set GITHUB_TOKEN to it.'
  return 'Check GITHUB_REPOSITORY. The token needs to read contents, actions, administration, security advisories and packages.'
}

/** Reads one resource of the API, and says in plain words why that failed. */
const read = async <T>({ api, token }: Repository, path: string, schema: z.ZodType<T>): Promise<T> => {
  const answer = await send({
    url: `${api}${path}`,
    method: 'GET',
    headers: {
      accept: 'application/vnd.github+json',
      authorization: `Bearer ${token}`,
      'user-agent': 'pohf',
      'x-github-api-version': '2022-11-28',
    },
    timeoutMs,
    responseBytesMax: answerBytesMax,
    trust: 'operator',
  }).catch((error: unknown) => {
    throw new StepFailure(
      `GitHub was not reached: ${reasonOf(error)}`,
      'Check that this machine reaches GITHUB_API_URL over HTTPS.',
    )
  })
  if (answer.status !== 200)
    throw new StepFailure(
      answer.status === 401
        ? 'GitHub does not know the token of GITHUB_TOKEN (status 401)'
        : `GitHub refused ${path}: status ${answer.status}`,
      adviceOf(answer.status),
    )
  const parsed = schema.safeParse(JSON.parse(answer.body))
  if (parsed.success) return parsed.data
  throw new StepFailure(
    `GitHub answered ${path} in another form: ${parsed.error.issues[0]?.path.join('.')}`,
    'Read the change log of the API of GitHub: this command is older than a change.',
  )
}

const readWorkflows = ({ step }: Input): Promise<string[]> =>
  step('Each workflow is YAML with an event and jobs that have steps', (note) => {
    const names = readdirSync(workflowsFolder)
    for (const name of names) {
      const parsed = workflow.safeParse(parse(readFileSync(new URL(name, workflowsFolder), 'utf8')))
      if (!parsed.success)
        throw new StepFailure(
          `${name} is wrong at ${parsed.error.issues[0]?.path.join('.')}`,
          'Correct it: GitHub would ignore it.',
        )
    }
    if (names.length === 0)
      throw new StepFailure('there is none', 'Run this in a clone with .github/workflows.')
    note(names.join(', '))
    return names
  })

const readSettings = ({ environment, step }: Input): Promise<Repository> =>
  step('The environment names a repository and a token', (note) => {
    const { GITHUB_REPOSITORY: name, GITHUB_TOKEN: token } = environment
    const api = (environment['GITHUB_API_URL'] || 'https://api.github.com').replace(/\/+$/, '')
    if (!token || !/^[\w.-]+\/[\w.-]+$/.test(name ?? ''))
      throw new StepFailure(
        'GITHUB_REPOSITORY and GITHUB_TOKEN are not set',
        'Set GITHUB_REPOSITORY=OWNER/NAME, and GITHUB_TOKEN to a token that can read this repository.',
      )
    const isSafe = URL.canParse(api) && (api.startsWith('https:') || isLoopbackHost(new URL(api).hostname))
    if (!isSafe)
      throw new StepFailure('GITHUB_API_URL is not https', 'Remove it, or set it to the API of your GitHub.')
    note(`${name} at ${api}`)
    return { api, name: name ?? '', token }
  })

/** Reads what the project says it has on GitHub. It changes nothing there. */
export const contactGithub = async (input: Input): Promise<void> => {
  const { step } = input
  const workflows = await readWorkflows(input)
  const repository = await readSettings(input)
  const path = `/repos/${repository.name}`
  const { owner } = await step('The repository can be read', async (note) => {
    const found = await read(repository, path, repositorySchema)
    note(`${found.visibility}, branch ${found.default_branch}`)
    return found
  })
  await step('Anybody can report a vulnerability privately, as SECURITY.md says', async () => {
    const { enabled } = await read(repository, `${path}/private-vulnerability-reporting`, reportingSchema)
    if (!enabled)
      throw new StepFailure(
        'private vulnerability reporting is off',
        'Turn it on in the settings of the repository, under Advanced Security.',
      )
  })
  await step('The advisories can be read', async (note) => {
    const found = await read(repository, `${path}/security-advisories?per_page=1`, listSchema)
    note(found.length === 0 ? 'none yet' : 'at least one')
  })
  await step('The packages of the owner can be read', async (note) => {
    const owners = owner.type === 'Organization' ? 'orgs' : 'users'
    for (const type of ['npm', 'container']) {
      const listed = `/${owners}/${owner.login}/packages?package_type=${type}&per_page=1`
      const found = await read(repository, listed, listSchema)
      note(`${type}: ${found.length === 0 ? 'none yet' : 'at least one'}`)
    }
  })
  await step('Each workflow has run, and its newest run passed', async (note) => {
    for (const name of workflows) {
      const runs = `${path}/actions/workflows/${name}/runs?status=completed&per_page=1`
      const [newest] = (await read(repository, runs, runsSchema)).workflow_runs
      if (newest?.conclusion !== 'success')
        throw new StepFailure(
          newest ? `${name} ended with ${newest.conclusion}: ${newest.html_url}` : `${name} never ran`,
          'Open it under Actions, and read or start its run.',
        )
      note(`${name}: passed on ${newest.created_at}`)
    }
  })
}
