import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { affectedTests, readSourcesOf } from './affected-tests.ts'
import { missingBuilds } from './built-pages.ts'
import { hashFiles } from './kept-results.ts'
import { runCommand, runLanes } from './lanes.ts'
import type { Step } from './steps.ts'
import { listTestFiles } from './test-files.ts'

/** At most this many files run, the nearest to the change first; with more, those of what builds on it are left to the gate. */
const testFilesMax = 36

const git = (...parameters: readonly string[]): string => {
  const { stdout, stderr, status } = spawnSync('git', parameters, {
    encoding: 'utf8',
    maxBuffer: 64 * 2 ** 20,
  })
  if (status !== 0) throw new Error(`git ${parameters.join(' ')} failed: ${stderr}`)
  return stdout
}

/** Where this branch left the published one, or the last commit where there is no remote. */
const defaultBase = (): string => {
  const { stdout, status } = spawnSync('git', ['merge-base', 'HEAD', 'origin/main'], { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : 'HEAD'
}

/** Files that differ from the base, committed or not; also those that are gone. */
const listChanged = (base: string): string[] =>
  [git('diff', '--name-only', '-z', base), git('ls-files', '-z', '--others', '--exclude-standard')]
    .flatMap((names) => names.split('\0'))
    .filter((path) => path !== '')
    .toSorted()

/** Written by `npm run generate`: tests follow from what it is generated from. */
const isGenerated = (path: string): boolean => path === 'packages/server/src/platform/db/schema.ts'

/** Of tests, what failed: the tests that passed are hundreds of lines. */
const faultsIn = (output: string): string => output.slice(Math.max(0, output.indexOf('✖ failing tests:')))

const step = (name: string, ...command: readonly string[]): Step => ({ name, checks: '', command })

/** Checks what was changed since the base in a minute or a few: a first answer, not the gate. */
export const checkChanged = async ({
  base = defaultBase(),
  isJson,
}: {
  readonly base: string | undefined
  readonly isJson: boolean
}): Promise<boolean> => {
  const startedAt = performance.now()
  const changed = listChanged(base)
  if (changed.length === 0) {
    console.log(`Nothing has changed since ${base}. To compare with another commit, name it after --changed`)
    return true
  }
  const sources = readSourcesOf([...hashFiles().keys()])
  const { own, dependent } = affectedTests(
    changed.filter((path) => !isGenerated(path)),
    sources,
    listTestFiles(),
  )
  const isWithin = own.length + dependent.length <= testFilesMax
  const tests = isWithin ? [...own, ...dependent] : own.slice(0, testFilesMax)
  const left = own.length + dependent.length - tests.length
  console.log(`${changed.length} changed files since ${base}, ${tests.length} test files`)
  if (left > 0)
    console.log(`Left to the gate: ${left} further test files of the same parts and of what builds on them`)
  const present = changed.filter((path) => existsSync(path))
  const scripts = present.filter((path) => /\.(?:tsx?|mjs)$/.test(path))
  const lanes = [
    {
      name: 'tests',
      steps: [
        ...(missingBuilds(tests).length > 0 ? [step('build', 'npm', 'run', '--silent', 'build')] : []),
        ...(tests.length > 0 ? [step('tests', 'node', 'tools/ci/test.ts', ...tests)] : []),
      ],
    },
    {
      name: 'checks',
      steps: [
        ...(present.length > 0
          ? [step('format', 'prettier', '--check', '--ignore-unknown', '--log-level', 'warn', ...present)]
          : []),
        ...(scripts.length > 0 ? [step('lint', 'oxlint', '--type-aware', '--format=unix', ...scripts)] : []),
        step('types', 'node', 'tools/ci/types.ts', '--incremental'),
        step('generated files', 'node', 'tools/ci/generate.ts', '--check'),
      ],
    },
  ]
  const results = await runLanes(lanes, runCommand, ({ name, hasPassed, seconds, output }) => {
    console.log(`${hasPassed ? '✓' : '✗'} ${name}: ${seconds.toFixed(1)} s`)
    if (!hasPassed) console.log(faultsIn(output))
  })
  const seconds = Math.round((performance.now() - startedAt) / 1_000)
  console.log(`\n${seconds} s`)
  if (isJson) console.log(JSON.stringify({ changed: changed.length, tests: tests.length, seconds }))
  return results.every(({ hasPassed }) => hasPassed)
}
