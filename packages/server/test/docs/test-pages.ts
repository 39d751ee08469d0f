import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startDevServer } from './dev-server.ts'
import { repositoryRoot } from './markdown.ts'
import { notRunReasons } from './pages.ts'
import { runPage } from './run-page.ts'

/** One test for each page, all against one server of `npm run dev` with these options. */
export const testPages = async (
  pages: readonly string[],
  ...devOptions: readonly string[]
): Promise<void> => {
  const server = await startDevServer(...devOptions)
  let blocks = 0
  for (const page of pages)
    test(`the blocks of ${page} run as they stand`, async (t) => {
      const { run, saved, notRun } = await runPage(readFileSync(join(repositoryRoot, page), 'utf8'), server)
      t.diagnostic(`${run} blocks run, ${saved} files saved, ${notRun} blocks not run`)
      blocks += run
      assert.equal(notRun, notRunReasons[page]?.length ?? 0, 'blocks marked no-run')
    })
  test('the pages have blocks that run', () => assert.ok(blocks >= pages.length / 2, `${blocks} blocks`))
}
