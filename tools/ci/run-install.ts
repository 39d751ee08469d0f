// Follows docs/operate/install.md on a fresh clone and a fresh PostgreSQL, from npm ci to a live credential that is verified
// offline, and measures it. A script plays the operator, and a program of the arena plays the person.
// npm run battery -- setup [--postgres embedded --report]
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { cpus, loadavg, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { freePort } from '../../packages/server/dev/cluster.ts'
import { missingPostgres, startFreshPostgres } from '../../packages/server/test/docs/fresh-postgres.ts'
import { runPage } from '../../packages/server/test/docs/run-page.ts'
import { today, writeReport } from '../report.ts'
import { tableOf } from './pages/markdown.ts'

const limitSeconds = 600
const root = resolve(import.meta.dirname, '../..')
const { values } = parseArgs({
  options: {
    postgres: { type: 'string', default: 'system' },
    report: { type: 'boolean', default: false },
  },
})
const source = values.postgres === 'embedded' ? 'embedded' : 'system'
const missing = missingPostgres(source)
if (missing !== undefined) throw new Error(missing)

/** How this machine reaches the npm registry. A machine without a proxy has none of them. */
const network = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => /^(?:NODE_EXTRA_CA_CERTS|(?:https?|no)_proxy)$/i.test(name)),
)

/** The heading above a line of a page. */
const headingOf = (page: string, line: number): string =>
  page
    .split('\n')
    .slice(0, line)
    .findLast((text) => text.startsWith('## '))
    ?.slice(3) ?? ''

const folder = mkdtempSync(join(tmpdir(), 'pohf-install-'))
const clone = join(folder, 'pohf')
execFileSync('git', ['clone', '--quiet', '--no-hardlinks', root, clone])
const home = join(folder, 'home')
mkdirSync(home)
const page = readFileSync(join(clone, 'docs/operate/install.md'), 'utf8')
const postgres = await startFreshPostgres(source)
try {
  const [server] = await postgres.query<{ version: string }>(
    'postgres',
    "select split_part(current_setting('server_version'), ' ', 1) as version",
  )
  const { run, times } = await runPage(page, {
    clone,
    timeoutMs: limitSeconds * 1_000,
    ports: { 3000: await freePort(), 3001: await freePort(), 4000: await freePort(), 5432: postgres.port },
    environment: { ...network, HOME: home, NODE_COMPILE_CACHE: '', ...postgres.administrator },
  })
  const minted = await postgres.query<{ mode: string }>('pohf', 'select mode from credentials')
  if (minted.length !== 1 || minted[0]?.mode !== 'live')
    throw new Error(
      `credentials after the last block: ${JSON.stringify(minted)}; one live credential expected`,
    )
  const rows = times.slice(0, -1).map(({ line, at }, index) => ({
    heading: headingOf(page, line ?? 0),
    seconds: (times[index + 1]?.at ?? Number.NaN) - at,
  }))
  const steps = [...Map.groupBy(rows, ({ heading }) => heading)].map(
    ([heading, blocks]) => [heading, blocks.reduce((sum, { seconds }) => sum + seconds, 0)] as const,
  )
  const total = steps.reduce((sum, [, seconds]) => sum + seconds, 0)
  const table = tableOf(
    ['Step', 'Seconds'],
    [...steps, ['All steps', total] as const].map(([name, seconds]) => [name, seconds.toFixed(1)]),
  )
  console.log(table)
  if (values.report)
    writeReport(
      'setup.md',
      `# From a fresh clone to a live credential, ${today()}

Question: how long does an operator need who pastes [install.md](../operate/install.md), without a mail server and without a card
provider? The limit is ${limitSeconds} seconds.

Command: \`npm run battery -- setup --postgres ${source} --report\`. It clones the repository, starts a new cluster of
PostgreSQL ${server?.version} that has no role but the administrator, and runs the ${run} blocks of the page in order, with an empty home folder and
an empty npm cache. ${cpus().length} cores; average load of the last five minutes ${loadavg()[1]?.toFixed(1)}.

${table}

The time to read the page is not in it, nor the installation of Node, PostgreSQL, \`curl\` and \`jq\`. A program of the arena plays the
person, as the page says; a real person needs about 8 seconds for the check.
`,
    )
  console.log(`✓ ${run} blocks in ${total.toFixed(0)} s, at most ${limitSeconds} s`)
} finally {
  await postgres.stop()
  rmSync(folder, { recursive: true, force: true })
}
