// Looks at every page in every width and colour scheme, and answers questions on every screen. The suite does so in two views.
import { globSync, readFileSync } from 'node:fs'
import { runProgram, step } from '../driver/program.ts'
import { tableOfFigures } from '../driver/report.ts'
import { runSuite } from './suite/suite.ts'

await runProgram({
  command: 'battery -- views',
  title: 'Every page in every view',
  about:
    '320 and 1,280 px, light and dark; questions by mouse and touch at 320, 375 and 1,280 px. `--file` takes a part of the path of test files.',
  options: { file: '' },
  minutes: () => 120,
  run: async ({ file: part }) => {
    const files = globSync('packages/*/test/**/*.test.ts')
      .filter((file) => file.includes(part) && /\/views\.ts'/.test(readFileSync(file, 'utf8')))
      .toSorted()
    if (files.length === 0) throw new Error('no test file looks at views')
    step(`${files.length} test files`)
    const { tests, failed, seconds } = await runSuite(files, { POHF_EVERY_VIEW: '1' })
    const figures = { files: files.length, tests, failed: failed.length, seconds }
    return {
      figures,
      tables: [tableOfFigures(figures)],
      faults: [...failed, ...(tests > 0 ? [] : ['no test ran'])],
      holds: `${tests} tests in ${files.length} files`,
    }
  },
})
