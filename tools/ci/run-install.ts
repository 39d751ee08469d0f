// Follows docs/operate/install.md on a fresh clone and a fresh PostgreSQL, from npm ci to a live credential that is verified
// offline, and measures it. A script plays the operator, and a program of the arena plays the person.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { freePort } from '../../packages/server/dev/cluster.ts'
import { missingPostgres, startFreshPostgres } from '../../packages/server/test/docs/fresh-postgres.ts'
import { runPage } from '../../packages/server/test/docs/run-page.ts'
import { closingAfter, makeFolder } from '../driver/closing.ts'
import { runProgram, starting, step } from '../driver/program.ts'
import { tableOfFigures } from '../driver/report.ts'
import { rounded, sum } from '../driver/rounds.ts'

const limitSeconds = 600
const root = resolve(import.meta.dirname, '../..')
const sourceOf = (name: string) => (name === 'embedded' ? 'embedded' : 'system')

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

await runProgram({
  command: 'battery -- setup',
  title: 'From a fresh clone to a live credential',
  about: `Question: how long does an operator need who pastes [install.md](../operate/install.md), without a mail server and without a card provider? The limit is ${limitSeconds} seconds.

The battery clones the repository, starts a new cluster of PostgreSQL that has no role but the administrator, and runs the blocks of the page in order, with an empty home folder and an empty npm cache. The time to read the page is not in it, nor the installation of Node, PostgreSQL, \`curl\` and \`jq\`. A program of the arena plays the person, as the page says; a real person needs about 8 seconds for the check.`,
  options: { postgres: 'system' },
  minutes: () => 60,
  missing: ({ postgres }) => missingPostgres(sourceOf(postgres)),
  run: ({ postgres: name }) =>
    closingAfter(async (defer) => {
      starting('a fresh clone and a fresh PostgreSQL')
      const folder = makeFolder('install', defer)
      const clone = join(folder, 'pohf')
      execFileSync('git', ['clone', '--quiet', '--no-hardlinks', root, clone])
      const home = join(folder, 'home')
      mkdirSync(home)
      const page = readFileSync(join(clone, 'docs/operate/install.md'), 'utf8')
      const postgres = await startFreshPostgres(sourceOf(name))
      defer(postgres.stop)
      const [server] = await postgres.query<{ version: string }>(
        'postgres',
        "select split_part(current_setting('server_version'), ' ', 1) as version",
      )
      step('the blocks of install.md')
      const { run, times } = await runPage(page, {
        clone,
        timeoutMs: limitSeconds * 1_000,
        ports: {
          3000: await freePort(),
          3001: await freePort(),
          4000: await freePort(),
          5432: postgres.port,
        },
        environment: { ...network, HOME: home, NODE_COMPILE_CACHE: '', ...postgres.administrator },
      })
      const minted = await postgres.query<{ mode: string }>('pohf', 'select mode from credentials')
      const rows = times.slice(0, -1).map(({ line, at }, index) => ({
        heading: headingOf(page, line ?? 0),
        seconds: (times[index + 1]?.at ?? Number.NaN) - at,
      }))
      const steps = Object.fromEntries(
        [...Map.groupBy(rows, ({ heading }) => heading)].map(([heading, blocks]) => [
          heading,
          rounded(sum(blocks.map(({ seconds }) => seconds))),
        ]),
      )
      const seconds = rounded(sum(Object.values(steps)))
      return {
        figures: { postgres: server?.version, blocks: run, seconds, steps },
        tables: [tableOfFigures({ ...steps, 'All steps, s': seconds, PostgreSQL: server?.version })],
        faults:
          minted.length === 1 && minted[0]?.mode === 'live'
            ? []
            : [`credentials after the last block: ${JSON.stringify(minted)}; one live credential expected`],
        holds: `${run} blocks in ${seconds} s, at most ${limitSeconds} s`,
      }
    }),
})
