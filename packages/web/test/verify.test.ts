import assert from 'node:assert/strict'
import { pollUntil } from '../../server/test/fixtures/polling.ts'
import { definition, makeEnvelope, mintApproval } from '../../verify/test/approvals/approval.ts'
import { makeIssuer } from '../../verify/test/issuer.ts'
import { lookInEveryView } from './browser.ts'
import { credentialCases, networkRoot } from './issuer-fixture.ts'
import { checkCredential as check, chipOf, createVerifyTest } from './verify-browser.ts'
import { firstView } from './views.ts'

const inBrowser = await createVerifyTest()

inBrowser('each state is named, and only what the issuer signed is shown', async ({ page, fixture }) => {
  for (const [name, jwt, chip] of credentialCases(fixture.issuer, makeIssuer('https://other.example'))) {
    await page.goto(`${fixture.url}/verify`)
    await check(page, jwt)
    assert.equal(await chipOf(page), chip, name)
    await pollUntil(`the title says ${chip}`, async () => (await page.title()).startsWith(`${chip} ·`))
    const signed = ['Valid', 'Test', 'Revoked', 'Suspended', 'Expired'].includes(chip)
    assert.equal((await page.$$('.facts')).length, signed ? 1 : 0, `${name}: claims`)
    await pollUntil(`${name}: seal`, async () => (await page.$$('.seal .weave')).length === (signed ? 1 : 0))
    assert.equal(
      (await page.$$('.checks .bad')).length > 0,
      !['Valid', 'Test'].includes(chip),
      `${name}: a failed check`,
    )
  }
})

inBrowser('a forged text cannot put its own words on the page', async ({ page, fixture }) => {
  const [header, , signature] = fixture.issuer.mint().split('.')
  const claims = fixture.issuer.claimsOf('view', { agent: 'EVIL-WORDS', iss: fixture.url })
  await check(page, `${header}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.${signature}`)
  assert.equal(await chipOf(page), 'Forged')
  assert.ok(!(await page.innerText('main')).includes('EVIL-WORDS'))
  const html = '<img src=x onerror=alert(1)>'
  await check(page, makeIssuer(`https://other.example/${html}`).mint())
  assert.equal((await page.$$('main img')).length, 0)
})

inBrowser('the credential never leaves the page', async ({ page, fixture }) => {
  fixture.requests.length = 0
  const jwt = fixture.issuer.mint('view', {
    status: { status_list: { idx: 5, uri: fixture.issuer.statusUri } },
  })
  await check(page, jwt)
  assert.equal(await chipOf(page), 'Valid')
  assert.ok(fixture.requests.length >= 2)
  for (const { method, url, headers, body } of fixture.requests) {
    assert.equal(method, 'GET')
    assert.match(url, /^\/(\.well-known\/(jwks|pohf-forging)\.json|status\/aa\/1|favicon\.ico)$/)
    assert.equal(body, '')
    for (const part of jwt.split('.')) assert.ok(!headers.includes(part) && !url.includes(part))
  }
})

inBrowser(
  'a price that is not known is said to be unknown, and does not make the credential invalid',
  async ({ page, fixture }) => {
    const view = fixture.issuer.mint('view', { roots: [networkRoot] })
    const priceCard = 'section[aria-labelledby=price]'
    fixture.behaviour.forging = 'expired'
    await check(page, view)
    assert.equal(await chipOf(page), 'Valid')
    assert.match(await page.innerText(priceCard), /is not known\.[^]*expired on 2001-12-08/)
    await page.reload()
    fixture.behaviour.forging = 'down'
    await check(page, view)
    assert.match(await page.innerText(priceCard), /is not known\.[^]*answered 503/)
    await page.reload()
    fixture.behaviour.forging = 'good'
    await check(page, fixture.issuer.mint('view'))
    assert.match(
      await page.innerText(priceCard),
      /is not known\. The table of the issuer has no price for it/,
    )
    await check(page, fixture.issuer.mintTest('view'))
    await page.locator('.chips .chip', { hasText: 'Test' }).waitFor()
    assert.equal((await page.$$(priceCard)).length, 0, 'a test credential has no price')
  },
)

inBrowser('by keyboard alone: paste, check, read, copy, go on', async ({ page, fixture }) => {
  const focused = () => page.evaluate<string>('document.activeElement.id || document.activeElement.className')
  const tabTo = async (wanted: string) => {
    for (let step = 0; step < 20; step++) {
      if ((await focused()).includes(wanted)) return
      await page.keyboard.press('Tab')
    }
    assert.fail(`${wanted} is not reached by Tab`)
  }
  await tabTo('jwt')
  await page.keyboard.insertText(fixture.issuer.mint())
  await page.keyboard.press('Tab')
  assert.equal(await focused(), 'challenge')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  // The answer has the focus.
  await page.waitForSelector('#says:focus')
  await tabTo('copy')
  await page.context().grantPermissions(['clipboard-write'])
  await page.keyboard.press('Enter')
  await page.locator('.copy', { hasText: /: copied$/ }).waitFor()
  await tabTo('jwt')
  await page.keyboard.press('Control+A')
  await page.keyboard.insertText('nonsense')
  assert.equal(await focused(), 'jwt', 'typing keeps its place')
  await page.keyboard.press('Control+Enter')
  await page.locator('.chips .chip', { hasText: 'Not a credential' }).waitFor()
})

inBrowser('where nothing can be copied the page says so', async ({ page, fixture }) => {
  await page.evaluate(
    "navigator.clipboard.writeText = () => Promise.reject(new DOMException('Write permission denied.', 'NotAllowedError'))",
  )
  await page.click('text=Copy the commands')
  await page
    .locator('[role=status]', { hasText: 'Not copied: select the text' })
    .waitFor({ state: 'attached' })
  await check(page, fixture.issuer.mint())
  // As in a page that is not served over HTTPS.
  await page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
  await page.click('.copy >> nth=0')
  await page.locator('.copy', { hasText: /: not copied$/ }).waitFor()
})

inBrowser('a challenge that is not in the credential refuses it', async ({ page, fixture }) => {
  await page.fill('#challenge', 'n-1')
  await check(page, fixture.issuer.mint('view', { challenge: 'n-2' }))
  assert.equal(await chipOf(page), 'Not for you')
})

inBrowser(
  'an address with a credential behind its # is checked at once; spaces and line ends do no harm',
  async ({ page, fixture }) => {
    await page.goto('about:blank')
    await page.goto(`${fixture.url}/verify#${fixture.issuer.mint()}`)
    await page.waitForSelector('.chips')
    assert.equal(await chipOf(page), 'Valid')
    await check(page, ` ${fixture.issuer.mint().replace('.', '.\n')} `)
    assert.equal(await chipOf(page), 'Valid')
    const expired = fixture.issuer.mint('view', { exp: 1_000 })
    await page.evaluate(`location.hash = ${JSON.stringify(expired)}`)
    await page.locator('.chips .chip', { hasText: 'Expired' }).waitFor()
    await page.goto('about:blank')
    await page.goto(`${fixture.url}/verify#%zz`)
    await page.waitForSelector('.chips')
    assert.equal(await page.inputValue('#jwt'), '%zz')
  },
)

inBrowser(
  'while keys are slow the page shows that it waits; when they are gone it says so and can be asked again',
  async ({ page, fixture }) => {
    fixture.behaviour.keys = 'slow'
    await page.fill('#jwt', fixture.issuer.mint())
    await page.click('button[type=submit]')
    await page.waitForSelector('.bone')
    fixture.behaviour.keys = 'good'
    await page.waitForSelector('.chips')
    assert.equal(await chipOf(page), 'Valid')
    fixture.behaviour.keys = 'down'
    await page.reload()
    await check(page, fixture.issuer.mint())
    assert.equal(await chipOf(page), 'Not checked')
    fixture.behaviour.keys = 'good'
    await page.click('text=Check again')
    await page.locator('.chips .chip', { hasText: 'Valid' }).waitFor()
  },
)

inBrowser('a status list that cannot be read is not taken for a good one', async ({ page, fixture }) => {
  fixture.behaviour.status = 'down'
  await check(
    page,
    fixture.issuer.mint('view', { status: { status_list: { idx: 5, uri: fixture.issuer.statusUri } } }),
  )
  assert.equal(await chipOf(page), 'Not checked')
})

inBrowser(
  'axe finds nothing, and nothing is wider than the page, in every view',
  async ({ page, fixture }) => {
    await lookInEveryView(page, 'empty')
    for (const [name, jwt] of credentialCases(fixture.issuer, makeIssuer('https://other.example'))) {
      await page.goto(`${fixture.url}/verify`)
      await check(page, jwt)
      for (const summary of await page.$$('summary')) await summary.click()
      await lookInEveryView(page, name)
    }
  },
  firstView,
)

inBrowser('an approval is explained, and its envelope is compared and shown in the page', async (opened) => {
  const { page, fixture: served } = opened
  const envelope = makeEnvelope({ action: { amount: '120.00', to: 'DE02\u202e' } })
  await check(page, await mintApproval(served.issuer, { envelope, definition }, 'apv_anna'))
  assert.match((await page.textContent('h1')) ?? '', /^apv_anna was shown this action and approved it\.$/)
  assert.match((await page.textContent('main')) ?? '', /Decision\s*approved/)
  const compare = async (value: unknown, line: RegExp): Promise<string> => {
    await page.fill('#envelope', typeof value === 'string' ? value : JSON.stringify(value))
    await page.click('section[aria-labelledby=action] button[type=submit]')
    // The line and the action below it come together.
    await page.locator('section[aria-labelledby=action] [role=status] li', { hasText: line }).waitFor()
    return (await page.textContent('section[aria-labelledby=action]')) ?? ''
  }
  await compare('', /Paste the envelope first/)
  const asked = served.requests.length
  const good = await compare(
    { envelope, definition },
    /envelope of the credential: its hash is the signed one/,
  )
  await lookInEveryView(page, 'verify-approval')
  assert.match(good, /Pay an invoice/)
  assert.match(good, /120\.00/)
  assert.match(good, /U\+202E/)
  const other = { ...envelope, action: { amount: '1.00', to: 'DE02' } }
  const changed = await compare({ envelope: other, definition }, /given for another envelope/)
  await lookInEveryView(page, 'verify-approval-other')
  assert.doesNotMatch(changed, /Pay an invoice/)
  await compare({ envelope, definition: { ...definition, labels: {} } }, /shown something else/)
  await compare(envelope, /not known without the definition/)
  const twice = JSON.stringify(envelope).replace('"amount"', '"amount":"1.00","amount"')
  await compare(twice, /has the key .* twice/)
  assert.equal(served.requests.length, asked, 'the envelope did not leave the page')
})
