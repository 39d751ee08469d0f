// A reporter for Node's test runner: a line of JSON for each file, and one with how many tests passed and failed.
import { existsSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import type { EventData } from 'node:test'

type Event = { readonly type: string; readonly data?: unknown }

/** What one file did, or all of them together: then `file` is missing. */
export type TestResult =
  | { readonly file: string; readonly hasPassed: boolean; readonly seconds: number }
  | { readonly file?: undefined; readonly passed: number; readonly failed: number; readonly skipped: number }

const line = (result: TestResult): string => `${JSON.stringify(result)}\n`

// Node takes the default export of a reporter.
// oxlint-disable-next-line import/no-default-export
export default async function* testResults(events: AsyncIterable<Event>): AsyncGenerator<string> {
  const counts = { passed: 0, failed: 0, skipped: 0 }
  let failedInFile = 0
  for await (const { type, data } of events) {
    if (type !== 'test:pass' && type !== 'test:fail') continue
    const hasPassed = type === 'test:pass'
    const { name, nesting, file, details, skip } = data as EventData.TestPass
    const isTest = details.type !== 'suite'
    if (isTest && !hasPassed) failedInFile += 1
    if (isTest) counts[skip !== undefined ? 'skipped' : hasPassed ? 'passed' : 'failed'] += 1
    if (nesting > 0) continue
    // A file that cannot be loaded, or whose clean-up fails, fails without a test.
    if (!hasPassed && failedInFile === 0) counts.failed += 1
    failedInFile = 0
    // The file is the suite around its tests: the event of a test names where test() was called, which may be a helper.
    const path = existsSync(name) ? name : (file ?? '?')
    yield line({ file: relative('.', resolve(path)), hasPassed, seconds: details.duration_ms / 1_000 })
  }
  yield line(counts)
}

/** The results that a run of the reporter wrote. */
export const parseTestResults = (text: string): TestResult[] =>
  text
    .split('\n')
    .filter(Boolean)
    .map((row) => JSON.parse(row) as TestResult)
