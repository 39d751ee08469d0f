// Tests the rules of deploy/prometheus with promtool, and breaks each alert to see that its tests notice.
import { spawnSync } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { closingAfter, makeFolder } from '../driver/closing.ts'
import { runProgram, starting, step } from '../driver/program.ts'

const source = fileURLToPath(new URL('../../deploy/prometheus/', import.meta.url))
const files = ['slo.yml', 'alerts.yml'] as const
/** The tests of each file of rules. */
const testFiles = { 'slo.yml': ['slo-fast.yml', 'slo-slow.yml'], 'alerts.yml': ['alerts.yml'] } as const
type RuleFile = (typeof files)[number]

const textOf = (file: RuleFile): string => readFileSync(join(source, file), 'utf8')
const alertsOf = (file: RuleFile): string[] =>
  [...textOf(file).matchAll(/- alert: (\w+)/g)].map((match) => match[1] ?? '')
/** The rules with another expression for one alert; a `for` that holds it back is dropped. */
const withExpression = (text: string, alert: string, expression: string): string => {
  const rule = new RegExp(
    `(- alert: ${alert}\\n\\s+expr: )(?:\\|\\n(?: {10}.*\\n)+|.*\\n)(?:\\s+for: .*\\n)?`,
  )
  if (!rule.test(text)) throw new Error(`rule of alert ${alert} not found`)
  return text.replace(rule, (_, head: string) => `${head}${expression}\n`)
}
/** Runs promtool in a copy of the rules. */
const openPromtool = (folder: string) => {
  const found = spawnSync(fileURLToPath(new URL('promtool.sh', import.meta.url)), { encoding: 'utf8' })
  if (found.status !== 0) throw new Error(`no promtool: ${found.stderr}`)
  const promtool = found.stdout.trim()
  cpSync(source, folder, { recursive: true })
  const run = (...parameters: readonly string[]) => {
    const { status, stdout, stderr } = spawnSync(promtool, parameters, { encoding: 'utf8', cwd: folder })
    return { passed: status === 0, output: `${stdout}${stderr}` }
  }
  const test = (file: RuleFile) => run('test', 'rules', ...testFiles[file].map((name) => join('tests', name)))
  return {
    run,
    test,
    /** Whether the tests notice an alert that is broken in this way. */
    isNoticed: (file: RuleFile, alert: string, expression: string): boolean => {
      writeFileSync(join(folder, file), withExpression(textOf(file), alert, expression))
      const { passed } = test(file)
      writeFileSync(join(folder, file), textOf(file))
      return !passed
    },
  }
}

const yesNo = (isTrue: boolean): string => (isTrue ? 'yes' : 'no')

await runProgram({
  command: 'battery -- alerts',
  title: 'Alerts',
  about:
    'The rules of `deploy/prometheus` and their tests. Each alert fires on its fault and stays silent while all is well. Then each alert is broken twice, so that it never and always fires, and the tests must notice both. No Prometheus server runs: the tests evaluate the rules on series that they define.',
  options: {},
  minutes: () => 120,
  run: () =>
    closingAfter(async (defer) => {
      starting('promtool')
      const { run, test, isNoticed } = openPromtool(makeFolder('alerts', defer))
      const faults: string[] = []
      const configuration = run('check', 'config', 'prometheus.yml')
      if (!configuration.passed) faults.push(configuration.output)
      const rows = files.flatMap((file) => {
        const tests = test(file)
        if (!tests.passed) faults.push(tests.output)
        return alertsOf(file).map((alert) => {
          step(alert)
          const never = isNoticed(file, alert, 'vector(1) > 2')
          const always = isNoticed(file, alert, 'vector(1)')
          if (!never) faults.push(`${alert}: no test notices that it never fires`)
          if (!always) faults.push(`${alert}: no test notices that it always fires`)
          return [file, `\`${alert}\``, ...[tests.passed, never, always].map(yesNo)]
        })
      })
      if (rows.length < 10) faults.push(`only ${rows.length} alerts were found`)
      const version = run('--version').output.split('\n')[0] ?? ''
      return {
        figures: { alerts: rows.length, faults, version },
        tables: [
          {
            title: version,
            head: ['File', 'Alert', 'Tests pass', 'Noticed if it never fires', 'Noticed if it always fires'],
            rows,
          },
        ],
        faults,
        holds: `${rows.length} alerts fire on their faults`,
      }
    }),
})
