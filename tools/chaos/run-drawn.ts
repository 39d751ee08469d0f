// Opens requests with values of all blocks of Unicode on the approver's page in Chromium, and compares the order of what is drawn
// with the order of the value. The suite does so with a few values.
// node tools/chaos/run-drawn.ts [--values 10000] [--seed 1] [--json] [--report]
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { figuresOf, today, writeReport } from '../report.ts'

const { values: options } = parseArgs({
  options: {
    values: { type: 'string', default: '10000' },
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
    report: { type: 'boolean', default: false },
  },
})
const test = 'packages/web/test/approve-drawn.test.ts'
const folder = mkdtempSync(join(tmpdir(), 'pohf-drawn-'))
const file = join(folder, 'figures.json')

try {
  const child = spawn(process.execPath, ['tools/ci/test.ts', test], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    // Its output is for people; the last line of standard output is ours.
    stdio: ['ignore', options.json ? 2 : 'inherit', 'inherit'],
    env: {
      ...process.env,
      POHF_DRAWN_VALUES: options.values,
      POHF_DRAWN_SEED: options.seed,
      POHF_DRAWN_FIGURES: file,
    },
  })
  const [code] = (await once(child, 'close')) as [number | null]
  if (!existsSync(file)) throw new Error(`${test} ended with ${code ?? 'a signal'} and wrote no figures`)
  const figures = JSON.parse(readFileSync(file, 'utf8')) as Readonly<Record<string, number>>
  const isGood = code === 0 && figures['differ'] === 0 && figures['values'] === Number(options.values)
  if (options.report)
    writeReport(
      'drawn.md',
      `# What is drawn is what is signed, ${today()}

\`node tools/chaos/run-drawn.ts --values ${options.values} --seed ${options.seed} --report\`: values of characters of every block of Unicode, each as a
key and as a value of requests on the approver's page in Chromium. \`refused\`: no request can have it. \`marked\`: shown with a
note. \`differ\`: drawn in another order than that of its characters.

${figuresOf(figures)}
`,
    )
  console.log(options.json ? JSON.stringify(figures) : `${isGood ? '✓' : '✗'} ${JSON.stringify(figures)}`)
  if (!isGood) process.exitCode = 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
