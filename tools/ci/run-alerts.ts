// Tests the rules of deploy/prometheus with promtool: each alert fires on its fault and stays silent while all is well. Then
// each alert is broken twice, so that it never and always fires, and the tests must notice both. npm run battery -- alerts
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { today, writeReport } from '../report.ts'
import { tableOf } from './pages/markdown.ts'

const source = fileURLToPath(new URL('../../deploy/prometheus/', import.meta.url))
const files = ['slo.yml', 'alerts.yml'] as const
/** The tests of each file of rules. */
const testFiles = { 'slo.yml': ['slo-fast.yml', 'slo-slow.yml'], 'alerts.yml': ['alerts.yml'] } as const
type RuleFile = (typeof files)[number]

const found = spawnSync(fileURLToPath(new URL('promtool.sh', import.meta.url)), { encoding: 'utf8' })
if (found.status !== 0) throw new Error(`no promtool: ${found.stderr}`)
const promtool = found.stdout.trim()
const run = (...parameters: readonly string[]) => {
  const { status, stdout, stderr } = spawnSync(promtool, parameters, { encoding: 'utf8', cwd: folder })
  return { passed: status === 0, output: `${stdout}${stderr}` }
}

const folder = mkdtempSync(join(tmpdir(), 'pohf-alerts-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
cpSync(source, folder, { recursive: true })
const textOf = (file: RuleFile): string => readFileSync(join(source, file), 'utf8')
const alertsOf = (file: RuleFile): string[] =>
  [...textOf(file).matchAll(/- alert: (\w+)/g)].map((match) => match[1] ?? '')
const testsPass = (file: RuleFile) =>
  run('test', 'rules', ...testFiles[file].map((name) => join('tests', name)))

/** The rules with another expression for one alert; a `for` that holds it back is dropped. */
const withExpression = (text: string, alert: string, expression: string): string => {
  const rule = new RegExp(
    `(- alert: ${alert}\\n\\s+expr: )(?:\\|\\n(?: {10}.*\\n)+|.*\\n)(?:\\s+for: .*\\n)?`,
  )
  if (!rule.test(text)) throw new Error(`rule of alert ${alert} not found`)
  return text.replace(rule, (_, head: string) => `${head}${expression}\n`)
}
/** Whether the tests notice an alert that is broken in this way. */
const isNoticed = (file: RuleFile, alert: string, expression: string): boolean => {
  writeFileSync(join(folder, file), withExpression(textOf(file), alert, expression))
  const { passed } = testsPass(file)
  writeFileSync(join(folder, file), textOf(file))
  return !passed
}

const faults: string[] = []
const configuration = run('check', 'config', 'prometheus.yml')
if (!configuration.passed) faults.push(configuration.output)
const rows = files.flatMap((file) => {
  const tests = testsPass(file)
  if (!tests.passed) faults.push(tests.output)
  return alertsOf(file).map((alert) => {
    const never = isNoticed(file, alert, 'vector(1) > 2')
    const always = isNoticed(file, alert, 'vector(1)')
    if (!never) faults.push(`${alert}: no test notices that it never fires`)
    if (!always) faults.push(`${alert}: no test notices that it always fires`)
    return [file, `\`${alert}\``, tests.passed ? 'yes' : 'no', never ? 'yes' : 'no', always ? 'yes' : 'no']
  })
})
if (rows.length < 10) faults.push(`only ${rows.length} alerts were found`)
const table = tableOf(
  ['File', 'Alert', 'Tests pass', 'Noticed if it never fires', 'Noticed if it always fires'],
  rows,
)
console.log(table)
for (const fault of faults) console.error(fault)
const version = run('--version').output.split('\n')[0] ?? ''
writeReport(
  'alerts.md',
  `# Alerts, ${today()}

\`npm run battery -- alerts\`: the rules of \`deploy/prometheus\` and their tests, with ${version}.
${rows.length} alerts, ${faults.length} faults. No Prometheus server ran: the tests evaluate the rules on series that they define.

${table}
`,
)
if (faults.length > 0) process.exitCode = 1
