// Asks questions that a person, played in the worker's app, answers; measures from the call to the answer with its credential.
// npm run battery -- ask-human [--rounds 10 --json --report]
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { figuresOf, today, writeReport } from '../report.ts'
import { median, rounded } from './median.ts'

const limitSeconds = 60

type Round = { readonly claimed: number; readonly recorded: number; readonly answered: number }

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '10' },
    json: { type: 'boolean', default: false },
    report: { type: 'boolean', default: false },
  },
})
const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'pohf-ask-'))
const file = join(folder, 'figures.json')

/** The rounds of the test that the checks run once. */
const playRounds = async (): Promise<readonly Round[]> => {
  const child = spawn(process.execPath, ['tools/ci/test.ts', 'packages/web/test/ask-human.long.test.ts'], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, POHF_ASK_ROUNDS: values.rounds, POHF_ASK_FIGURES: file },
  })
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`the played rounds ended with ${code ?? 'a signal'}`)
  return JSON.parse(readFileSync(file, 'utf8')) as Round[]
}

try {
  const rounds = await playRounds()
  const answered = rounds.map((round) => round.answered)
  const figures = {
    'questions answered': rounds.length,
    'median, call to answer (s)': rounded(median(answered)),
    'fastest (s)': rounded(Math.min(...answered)),
    'slowest (s)': rounded(Math.max(...answered)),
    'median, call to claim (s)': rounded(median(rounds.map(({ claimed }) => claimed))),
    'median, recording with its questions of attention (s)': rounded(
      median(rounds.map(({ claimed, recorded }) => recorded - claimed)),
    ),
    'median, typing, handing in, scoring and credential (s)': rounded(
      median(rounds.map((round) => round.answered - round.recorded)),
    ),
  }
  if (values.json) console.log(JSON.stringify({ figures, rounds }))
  else console.table(figures)
  if (values.report)
    writeReport(
      'ask-human.md',
      `# From a question to its answer, ${today()}

\`npm run battery -- ask-human --rounds ${values.rounds}\`, ${cpus().length} cores, load ${loadavg()[1]?.toFixed(1)}. Server, PostgreSQL, Chromium and the played person share the machine.

${figuresOf(figures)}

An agent with a test key asks by \`POST /api/agents/questions\`. An enrolled person is played in the worker's app in Chromium, by keyboard: loads \`/work\`, takes the question, begins the recording, answers its questions of attention, types a word and hands in. The time ends when \`GET /api/agents/questions/{questionId}\` has the answer; its credential verifies and its recording can be read.

The person has the page open and reacts at once, so the time has no waiting for somebody to come: that is what \`expectedSeconds\` of a deployment measures. A played person reads and types faster than most people.
`,
    )
  if (rounds.length < Number(values.rounds) || median(answered) >= limitSeconds) process.exitCode = 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
