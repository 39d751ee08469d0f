import assert from 'node:assert/strict'
import { startHarness } from '../../server/test/fixtures/harness.ts'
import { lookInEveryView } from './browser.ts'
import { createOperatorTest } from './operator-browser.ts'
import { firstView } from './views.ts'

const onOperators = await createOperatorTest(() => startHarness())

onOperators(
  'page Trust: a root is added and removed with a reason, and the log has both',
  async ({ page, service, operatorKey, open }) => {
    const listRoots = async () =>
      (await service.harness.callOperator('GET', '/operator/trust', { key: operatorKey })).json.roots
    await open('#/trust')
    await page.locator('h1', { hasText: 'Only API keys order' }).waitFor()
    await lookInEveryView(page, 'operator-trust-empty')
    await page.fill('#trust-name', 'https://agent.example/')
    await page.fill('#trust-reason', 'contract 12')
    await page.click('button:has-text("Trust it")')
    await page.locator('[role=alert]').waitFor()
    assert.deepEqual(await listRoots(), [], 'an address with a path is no origin')
    await page.fill('#trust-name', 'https://agent.example')
    await page.click('button:has-text("Trust it")')
    await page.locator('.note.ok', { hasText: 'https://agent.example is trusted.' }).waitFor()
    await page.locator('h1', { hasText: 'Agents of 1 trust root' }).waitFor()
    await page.selectOption('#trust-kind', 'issuer')
    await page.fill('#trust-keys-url', 'https://wallet.example/jwks.json')
    await lookInEveryView(page, 'operator-trust')
    assert.equal((await listRoots())[0].mode, 'test')
    await page.click('summary:has-text("Remove")')
    await page.fill('details[open] textarea, details[open] input', 'contract ended')
    await page.click('details[open] button:has-text("Remove")')
    await page.locator('.note.ok', { hasText: 'no longer trusted' }).waitFor()
    assert.deepEqual(await listRoots(), [])
    const { json } = await service.harness.callOperator('GET', '/operator/audit?order=newest&limit=10', {
      key: operatorKey,
    })
    const entries = json.entries
      .filter(({ action }: { action: string }) => action.startsWith('trust.'))
      .map(({ action, details }: { action: string; details: { reason: string } }) => [action, details.reason])
    assert.deepEqual(entries, [
      ['trust.remove', 'contract ended'],
      ['trust.add', 'contract 12'],
    ])
  },
  firstView,
)
