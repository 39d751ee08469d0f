// Looks at every page in every width and colour scheme, and answers questions on every screen. The suite does so in two
// views. npm run battery -- views [--report]
import { globSync, readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { tableOf } from '../ci/pages/markdown.ts'
import { today, writeReport } from '../report.ts'
import { runSuite } from './suite/suite.ts'

const { values } = parseArgs({ options: { report: { type: 'boolean', default: false } } })
const files = globSync('packages/*/test/**/*.test.ts')
  .filter((file) => /\/views\.ts'/.test(readFileSync(file, 'utf8')))
  .toSorted()
if (files.length === 0) throw new Error('no test file looks at views')
const { tests, failed, seconds } = await runSuite(files, { POHF_EVERY_VIEW: '1' })
const isGood = tests > 0 && failed.length === 0
if (values.report)
  writeReport(
    'views.md',
    `# Every page in every view, ${today()}

\`npm run battery -- views --report\`: 320 and 1,280 px, light and dark; questions by mouse and touch at 320, 375 and
1,280 px.

${tableOf(['Files', 'Tests', 'Failed', 'Seconds'], [[files.length, tests, failed.length, seconds].map(String)])}
${failed.map((name) => `\n- ${name}`).join('')}
`,
  )
console.log(
  isGood ? `✓ ${tests} tests in ${files.length} files, ${seconds} s` : '✗ a test failed, or none ran',
)
if (!isGood) process.exitCode = 1
