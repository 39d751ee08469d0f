// A reporter for Node's test runner: each file with a failed test or that failed while it was loaded, one to a line.
import { existsSync } from 'node:fs'
import type { EventData } from 'node:test'

type Event = { readonly type: string; readonly data?: unknown }

// Node takes the default export of a reporter.
// oxlint-disable-next-line import/no-default-export
export default async function* failedFiles(events: AsyncIterable<Event>): AsyncGenerator<string> {
  for await (const { type, data } of events) {
    if (type !== 'test:fail') continue
    const { name, nesting, file } = data as EventData.TestFail
    // The file is the suite around its tests: the event of a test names where test() was called, which may be a helper.
    if (nesting === 0) yield `${existsSync(name) ? name : (file ?? '?')}\n`
  }
}
