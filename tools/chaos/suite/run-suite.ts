// Runs the whole test suite several times beside busy loops: a test that depends on a fast machine fails here.
// npm run battery -- suite [--rounds 3 --loops 2 --report]
import { spawn, type ChildProcess } from 'node:child_process'
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { tableOf } from '../../ci/pages/markdown.ts'
import { today, writeReport } from '../../report.ts'
import { runSuite, type SuiteResult } from './suite.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    loops: { type: 'string', default: '2' },
    report: { type: 'boolean', default: false },
  },
})
const rounds = Number(values.rounds)
const loopCount = Number(values.loops)

const slowestMax = 30

const reportOf = (
  found: readonly SuiteResult[],
): string => `# The test suite beside ${loopCount} busy loops, ${today()}

\`npm run battery -- suite --rounds ${rounds} --loops ${loopCount} --report\` on ${cpus().length} cores. \`load\` is the average of the last five minutes of a round, \`taken\` the part of the CPU time that the host of this virtual machine gave to others, in the whole round and in its worst ten seconds.

${tableOf(
  ['Round', 'Tests', 'Failed', 'Seconds', 'Load', 'Taken', 'At most'],
  found.map(({ tests, failed, seconds, load, stolen }, index) => [
    ...[index + 1, tests, failed.length, seconds, load].map(String),
    ...[stolen.average, stolen.highest].map((percent) => (percent === null ? 'not known' : `${percent} %`)),
  ]),
)}

The slowest files of the first round:

${tableOf(
  ['File', 'Seconds'],
  (found[0]?.files ?? []).slice(0, slowestMax).map(({ file, seconds }) => [file, String(seconds)]),
)}
${found.flatMap(({ failed }, index) => failed.map((name) => `\n- round ${index + 1}: ${name}`)).join('')}
`

const loops: ChildProcess[] = Array.from({ length: loopCount }, () =>
  spawn(process.execPath, ['-e', 'for(;;);'], { stdio: 'ignore' }),
)
const found: SuiteResult[] = []
try {
  for (let round = 1; round <= rounds; round++) {
    const result = await runSuite()
    found.push(result)
    console.log(
      `round ${round}: ${result.tests} tests, ${result.failed.length} failed, ${result.seconds} s, load ${result.load}, ${result.stolen.average ?? '?'} % of the CPU taken by the host`,
    )
    // Three rounds take about two hours: what was measured is kept if the battery is stopped.
    if (values.report) writeReport('suite.md', reportOf(found))
  }
} finally {
  for (const loop of loops) loop.kill()
}
const isGood = found.length > 0 && found.every(({ tests, failed }) => tests > 0 && failed.length === 0)
console.log(isGood ? '✓ no test failed' : '✗ a test failed, or none ran')
if (!isGood) process.exitCode = 1
