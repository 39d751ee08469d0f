import type { Harness } from '../../server/test/fixtures/harness.ts'
import * as operators from '../../server/src/operators/index.ts'
import { createBrowserTest, signIn, type TestPage } from './browser-test.ts'
import type { View } from './views.ts'

type OperatorPage = TestPage & {
  readonly operatorKey: string
  /** Signs in as Ada, or as the operator with another key, and opens a route of the operators' pages. */
  readonly open: (at?: string, key?: string) => Promise<void>
}

/** Browser tests on the operators' pages, each with an operator of its own. */
export const createOperatorTest = async (start?: () => Promise<Harness>) => {
  const inBrowser = await createBrowserTest(start)
  return (name: string, body: (opened: OperatorPage) => Promise<void>, view: Partial<View> = {}): void =>
    inBrowser(
      name,
      async (opened) => {
        const { page, service } = opened
        const { operatorKey } = await operators.create(service.harness.ctx, 'machine', 'Ada')
        const open = async (at = '', key = operatorKey) => {
          await page.goto('about:blank')
          await page.goto(`${service.operator.url}/operator${at}`)
          await signIn(page, key)
        }
        await body({ ...opened, operatorKey, open })
      },
      view,
    )
}
