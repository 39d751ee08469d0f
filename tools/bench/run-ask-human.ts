// Asks questions that a person, played in the worker's app, answers; measures from the call to the answer with its credential.
import { readFigures } from '../driver/child.ts'
import { runProgram } from '../driver/program.ts'
import { tableOfFigures, tableOfRecords } from '../driver/report.ts'
import { median, rounded } from '../driver/rounds.ts'

const limitSeconds = 60

type Round = { readonly claimed: number; readonly recorded: number; readonly answered: number }

await runProgram({
  command: 'battery -- ask-human',
  title: 'From a question to its answer',
  about: `Seconds. Server, PostgreSQL, Chromium and the played person share the machine. An agent with a test key asks by \`POST /api/agents/questions\`. An enrolled person is played in the worker's app in Chromium, by keyboard: loads \`/work\`, takes the question, begins the recording, answers its questions of attention, types a word and hands in. The time ends when \`GET /api/agents/questions/{questionId}\` has the answer; its credential verifies and its recording can be read.

The person has the page open and reacts at once, so the time has no waiting for somebody to come: that is what \`expectedSeconds\` of a deployment measures. A played person reads and types faster than most people.`,
  options: { rounds: 10 },
  smoke: { rounds: 1 },
  minutes: ({ rounds }) => 10 + 2 * rounds,
  run: async ({ rounds: wanted }) => {
    const { code, figures: played } = await readFigures(
      'packages/web/test/ask-human.long.test.ts',
      'POHF_ASK_FIGURES',
      { POHF_ASK_ROUNDS: String(wanted) },
    )
    const rounds = (played ?? []) as readonly Round[]
    const middle = (read: (round: Round) => number) => rounded(median(rounds.map(read)))
    const answered = rounds.map((round) => round.answered)
    const figures = {
      'questions answered': rounds.length,
      'median, call to answer (s)': middle((round) => round.answered),
      'fastest (s)': rounded(Math.min(...answered)),
      'slowest (s)': rounded(Math.max(...answered)),
      'median, call to claim (s)': middle(({ claimed }) => claimed),
      'median, recording with its questions of attention (s)': middle(
        ({ claimed, recorded }) => recorded - claimed,
      ),
      'median, typing, handing in, scoring and credential (s)': middle(
        (round) => round.answered - round.recorded,
      ),
    }
    return {
      figures: { figures, rounds },
      tables: [tableOfFigures(figures), tableOfRecords(rounds, 'Every round:')],
      faults: [
        ...(code === 0 ? [] : [`the played rounds ended with ${code}`]),
        ...(rounds.length < wanted ? [`${rounds.length} of ${wanted} questions were answered`] : []),
        ...(median(answered) >= limitSeconds ? [`the median is not below ${limitSeconds} s`] : []),
      ],
      holds: 'every question was answered',
    }
  },
})
