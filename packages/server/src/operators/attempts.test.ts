import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness } from '../../test/fixtures/harness.ts'
import { makePasskey } from '../../test/fixtures/people/authenticator.ts'
import { makeSignedInOperator, openOperatorPage } from '../../test/fixtures/people/operator-page.ts'
import { assertRefusal } from '../../test/fixtures/refusal.ts'

const harness = await startHarness({ ADDRESS_LIMITS: 'on', TRUSTED_PROXIES: '127.0.0.1' })

const from = (address: string) => ({ 'x-forwarded-for': address })

test('a network has 60 attempts a minute to sign in as an operator, and locks out no other network', async () => {
  const { passkey } = await makeSignedInOperator(harness)
  const stranger = openOperatorPage(harness)
  const guess = () =>
    stranger.send('POST', 'passkey', { body: { credential: {} }, headers: from('192.0.2.9') })
  for (let n = 0; n < 60; n++) assertRefusal(await guess(), 400, 'passkey_refused')
  const refused = await guess()
  assertRefusal(refused, 429, 'rate_limited')
  assert.ok(Number(refused.headers['retry-after']) > 0)
  const page = openOperatorPage(harness)
  assert.equal((await page.usePasskey(passkey)).status, 200)
  assertRefusal(await page.usePasskey(makePasskey()), 400, 'passkey_refused')
})
