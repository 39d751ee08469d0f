// Runs the whole test suite several times beside busy loops: a test that depends on a fast machine fails here.
import { spawn } from 'node:child_process'
import { closingAfter } from '../../driver/closing.ts'
import { runProgram, step } from '../../driver/program.ts'
import { tableOfRecords, type ProgramFindings } from '../../driver/report.ts'
import { sum } from '../../driver/rounds.ts'
import { runSuite, type SuiteResult } from './suite.ts'

const slowestMax = 30
const percentText = (percent: number | null): string => (percent === null ? 'not known' : `${percent} %`)

const findingsOf = (rounds: readonly SuiteResult[]): ProgramFindings => ({
  figures: { tests: sum(rounds.map(({ tests }) => tests)), rounds },
  tables: [
    tableOfRecords(
      rounds.map(({ tests, failed, seconds, load, stolen }, index) => ({
        Round: index + 1,
        Tests: tests,
        Failed: failed.length,
        Seconds: seconds,
        Load: load,
        Taken: percentText(stolen.average),
        'At most': percentText(stolen.highest),
      })),
    ),
    tableOfRecords((rounds[0]?.files ?? []).slice(0, slowestMax), 'The slowest files of the first round:'),
  ],
  faults: rounds.flatMap(({ tests, failed }, index) => [
    ...failed.map((name) => `round ${index + 1}: ${name}`),
    ...(tests > 0 ? [] : [`round ${index + 1}: no test ran`]),
  ]),
  holds: 'no test failed',
})

await runProgram({
  command: 'battery -- suite',
  title: 'The test suite beside busy loops',
  about:
    '`Load` is the average of the last five minutes of a round, `Taken` the part of the CPU time that the host of this virtual machine gave to others, in the whole round and in its worst ten seconds.',
  options: { rounds: 3, loops: 2, file: [] },
  minutes: ({ rounds }) => 10 + 90 * rounds,
  run: ({ rounds, loops, file }, save) =>
    closingAfter(async (defer) => {
      for (let n = 0; n < loops; n += 1) {
        const loop = spawn(process.execPath, ['-e', 'for(;;);'], { stdio: 'ignore' })
        defer(() => loop.kill())
      }
      const found: SuiteResult[] = []
      for (let round = 1; round <= rounds; round++) {
        step(`round ${round}`)
        found.push(await runSuite(file))
        save(findingsOf(found))
      }
      return findingsOf(found)
    }),
})
