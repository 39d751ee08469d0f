import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { loadavg } from 'node:os'
import { createInterface } from 'node:readline'
import { measureStolenTime, type StolenTime } from './stolen-time.ts'

export type SuiteResult = {
  readonly seconds: number
  readonly load: number
  readonly stolen: StolenTime
  readonly tests: number
  readonly failed: readonly string[]
  /** The slowest first. */
  readonly files: readonly { readonly file: string; readonly seconds: number }[]
}

/** Node's runner ends each group of files with "ℹ tests N"; a failed test has a line of its own that begins with ✖. */
export const runSuite = async (
  files: readonly string[] = [],
  environment: NodeJS.ProcessEnv = {},
): Promise<SuiteResult> => {
  const startedAt = performance.now()
  const stolen = measureStolenTime()
  const child = spawn(process.execPath, ['tools/ci/test.ts', ...files], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...environment },
  })
  const exit = once(child, 'exit')
  const failed = new Set<string>()
  const durations: SuiteResult['files'][number][] = []
  let tests = 0
  let isDetail = false
  let hasFailedTest = false
  for await (const line of createInterface({ input: child.stdout })) {
    tests += Number(/^ℹ tests (\d+)$/.exec(line)?.[1] ?? 0)
    // After each group of files the runner says why tests failed; the next group begins with a file or a test.
    isDetail = !/^(?:✔|▶|ℹ tests)/.test(line) && (isDetail || line.startsWith('✖ failing tests:'))
    if (isDetail) console.log(line)
    const [, file, ms] = /^[✔✖] (\S+\.test\.ts) \(([\d.]+)ms\)$/.exec(line) ?? []
    if (file !== undefined) durations.push({ file, seconds: Math.round(Number(ms) / 1_000) })
    const [, name] = /^\s*✖ (?!failing tests:)(.+?)(?: \([\d.]+ms\))?$/.exec(line) ?? []
    // A file fails with its tests; it is named where none of them is, for example if its last hook failed.
    if (name !== undefined && !(file !== undefined && hasFailedTest)) {
      failed.add(name)
      console.log(line)
      if (!isDetail) console.log(`  the host took ${stolen.recent() ?? '?'} % of the CPU in the last minute`)
    }
    hasFailedTest = file === undefined && (hasFailedTest || name !== undefined)
  }
  await exit
  if (child.exitCode !== 0 && failed.size === 0) failed.add(`the runner ended with ${child.exitCode}`)
  return {
    seconds: Math.round((performance.now() - startedAt) / 1_000),
    load: Number((loadavg()[1] ?? NaN).toFixed(1)),
    stolen: stolen.end(),
    tests,
    failed: [...failed],
    files: durations.toSorted((a, b) => b.seconds - a.seconds),
  }
}
