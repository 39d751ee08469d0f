// A reporter for Node's test runner: the file of each failed test or that failed while it was loaded, one to a line.
import { existsSync } from 'node:fs'
import type { EventData } from 'node:test'

type Event = { readonly type: string; readonly data?: unknown }

/** A suite or a file that only contains the failed test: the test has an event of its own. */
const containsFailed = ({ details }: EventData.TestFail): boolean =>
  'failureType' in details.error && details.error.failureType === 'subtestsFailed'

// Node takes the default export of a reporter.
// oxlint-disable-next-line import/no-default-export
export default async function* failedFiles(events: AsyncIterable<Event>): AsyncGenerator<string> {
  for await (const { type, data } of events) {
    if (type !== 'test:fail') continue
    const failed = data as EventData.TestFail
    // Of files that share a process, one that fails while it is loaded is a suite with its path as the name.
    if (!containsFailed(failed)) yield `${existsSync(failed.name) ? failed.name : (failed.file ?? '?')}\n`
  }
}
