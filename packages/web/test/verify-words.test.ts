import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { rootKinds } from '../../verify/src/index.ts'
import { definition, makeEnvelope, mintApproval } from '../../verify/test/approvals/approval.ts'
import { tabTo } from './browser-test.ts'
import { lookInEveryView } from './browser.ts'
import { networkRoot, rootOf } from './issuer-fixture.ts'
import { checkCredential as check, createVerifyTest } from './verify-browser.ts'

// What /verify says of a valid credential and in which colour, and the list of those whom its reader knows.

const inBrowser = await createVerifyTest()

const company = 'https://login.example.com'
const agent = 'agt_aa0123456789'
const toneOf = (page: Page) =>
  page.evaluate<string>("document.querySelector('.emblem').className.replace('emblem ', '')")
const behind = (page: Page) => page.innerText('.hero .behind >> nth=0')
const waitForTone = (page: Page, tone: string) => page.locator(`.hero .emblem.${tone}`).waitFor()
const listStatus = (page: Page) => page.innerText('section[aria-labelledby=your-list] [role=status]')
const keep = async (page: Page, text: string): Promise<void> => {
  if (!(await page.isVisible('#list'))) await page.click('section[aria-labelledby=your-list] summary')
  await page.fill('#list', text)
  await page.click('text=Keep this list')
}
const vouched = { roots: [{ ...rootOf('organization'), issuer: company }] }

inBrowser(
  'each root has its sentence and its colour, and only what is counted is green',
  async ({ page, fixture }) => {
    const strong = ['payout_account', 'bond', 'pid_number', 'world_id', 'vendor']
    const said = new Set<string>()
    for (const kind of rootKinds) {
      await page.goto(`${fixture.url}/verify`)
      await check(page, fixture.issuer.mint('view', { roots: [rootOf(kind)] }))
      const tone = kind === 'network' ? 'none' : strong.includes(kind) ? 'ok' : 'known'
      assert.equal(await toneOf(page), tone, kind)
      assert.equal(
        (await page.$$('.chip.ok')).length,
        tone === 'ok' ? 1 : 0,
        `${kind}: no other chip is green`,
      )
      said.add(await behind(page))
    }
    assert.equal(said.size, rootKinds.length)
  },
)

inBrowser('what was taken in is not measured, and a price is said for one', async ({ page, fixture }) => {
  await check(page, fixture.issuer.mint('view', { roots: [networkRoot], quality: 0.66 }))
  assert.match(await behind(page), /How much of it was taken in was not measured\./)
  assert.doesNotMatch(await page.innerText('main'), /\.66|66 ?%/)
  const day = new Date(Date.now() - 3_600_000).toISOString().slice(0, 10)
  assert.match(
    await page.innerText('section[aria-labelledby=price]'),
    new RegExp(
      `Forging it costs less than a cent an act by what is known on ${day}\\. Cheaper ways may exist`,
    ),
  )
  await check(page, fixture.issuer.mint('personhood', { roots: [rootOf('world_id')], assurance: 'high' }))
  await waitForTone(page, 'ok')
  assert.match(
    await page.innerText('section[aria-labelledby=price]'),
    /at least about 1 US dollar a person and less than a cent/,
  )
})

inBrowser(
  'an agent that enrols its own approver is blue, and a company that it names stands in quotes',
  async (opened) => {
    const { page, fixture } = opened
    const shown = { envelope: makeEnvelope({ policy: { ...makeEnvelope().policy, quorum: 1 } }), definition }
    const bank = { ...rootOf('organization'), issuer: 'Nordbank AG” (verified)' }
    await check(page, await mintApproval(fixture.issuer, shown, 'apv_anna', { more: { roots: [bank] } }))
    assert.equal(await toneOf(page), 'known')
    const said = await behind(page)
    assert.match(said, /An owner of agent agt_aa0123456789 enrolled them by a link in a mail on 2025-10-09\./)
    assert.match(said, /By the word of “Nordbank AG \(verified\)”, one of its accounts/)
    assert.match(said, /Approvals with this decision: 1 of 1 needed\./)
    assert.doesNotMatch(said, /script/)
    await lookInEveryView(page, 'verify-words-approval')
    // Nobody but the reader knows the agent.
    await keep(page, JSON.stringify({ pinnedAgents: [agent] }))
    await waitForTone(page, 'ok')
    const unverified = { approver: { user_verification: false }, more: { roots: [networkRoot] } }
    await check(page, await mintApproval(fixture.issuer, shown, 'apv_anna', unverified))
    await waitForTone(page, 'warn')
  },
)

inBrowser(
  'the list of the reader makes a company green, is kept, shown, replaced and removed',
  async ({ page, fixture }) => {
    const jwt = fixture.issuer.mint('view', vouched)
    await check(page, jwt)
    assert.equal(await toneOf(page), 'known')
    assert.match(await listStatus(page), /You list nobody\./)
    const asked = fixture.requests.length
    await keep(page, JSON.stringify({ trustedIssuers: [company] }))
    await waitForTone(page, 'ok')
    assert.match(
      await listStatus(page),
      /You list 1 issuer and 0 agents\. The list is kept in this browser\./,
    )
    assert.equal(await page.innerText('.listed'), company)
    assert.equal(fixture.requests.length, asked, 'the list did not leave the page')
    await lookInEveryView(page, 'verify-words-list')
    await page.goto('about:blank')
    await page.goto(`${fixture.url}/verify#${jwt}`)
    await waitForTone(page, 'ok')
    await keep(page, JSON.stringify({ trustedIssuers: ['https://other.example'] }))
    await waitForTone(page, 'known')
    assert.equal(await page.innerText('.listed'), 'https://other.example')
    await page.click('text=Remove the list')
    await page
      .locator('section[aria-labelledby=your-list]', { hasText: 'You list nobody. The list was removed.' })
      .waitFor()
    assert.equal(await page.evaluate('localStorage.length'), 0)
  },
)

inBrowser(
  'a file is opened, and what it has too much or wrong is refused with the reason',
  async ({ page }) => {
    const folder = mkdtempSync(join(tmpdir(), 'pohf-list-'))
    try {
      const open = async (text: string): Promise<void> => {
        const path = join(folder, 'policy.json')
        writeFileSync(path, text)
        if (!(await page.isVisible('#list'))) await page.click('section[aria-labelledby=your-list] summary')
        await page.setInputFiles('#list-file', [])
        await page.setInputFiles('#list-file', path)
      }
      const refused: readonly (readonly [text: string, reason: RegExp])[] = [
        ['', /not JSON/],
        ['[]', /must be an object/],
        ['{"trustedIssuer":["x"]}', /trustedIssuer is not known here/],
        ['{"kinds":["view"]}', /kinds is not known here/],
        ['{"trustedIssuers":"x"}', /trustedIssuers must be a list/],
        ['{"trustedIssuers":[""]}', /trustedIssuers\[0\] must be/],
        ['{"trustedIssuers":["a\\u202eb"]}', /trustedIssuers\[0\] must be/],
        ['{"pinnedAgents":["agt_1","acc_1"]}', /pinnedAgents\[1\] must be the id of an agent/],
        ['{"pinnedAgents":["agt_1"],"pinnedAgents":[]}', /has the key .* twice/],
        [
          JSON.stringify({ pinnedAgents: Array.from({ length: 101 }, () => 'agt_1') }),
          /has 101 entries; there can be 100/,
        ],
        [`{"trustedIssuers":["${'x'.repeat(70_000)}"]}`, /more than 65536/],
      ]
      for (const [text, reason] of refused) {
        await open(text)
        await page.locator('#list-fault', { hasText: reason }).waitFor()
        assert.match(await listStatus(page), /You list nobody\./)
      }
      await open(JSON.stringify({ trustedIssuers: [company], pinnedAgents: [agent] }))
      await page
        .locator('section[aria-labelledby=your-list] [role=status]', { hasText: '1 issuer and 1 agent' })
        .waitFor()
      assert.equal(await page.innerText('#list-fault'), '')
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
)

inBrowser(
  'nothing in a link lists anybody, and a kept list that is damaged lists nobody',
  async ({ page, fixture }) => {
    const jwt = fixture.issuer.mint('view', vouched)
    const list = encodeURIComponent(JSON.stringify({ trustedIssuers: [company], pinnedAgents: [agent] }))
    for (const address of [
      `/verify?trustedIssuers=${encodeURIComponent(company)}&pinnedAgents=${agent}#${jwt}`,
      `/verify?list=${list}&policy=${list}&pohf-reader-list=${list}#${jwt}`,
      `/verify#${jwt}&list=${list}`,
      `/verify#${jwt}`,
    ]) {
      await page.goto('about:blank')
      await page.goto(`${fixture.url}${address}`)
      await page.waitForSelector('.chips')
      assert.notEqual(await toneOf(page), 'ok', address.slice(0, 40))
      assert.match(await listStatus(page), /^You list nobody\./)
      assert.equal(await page.evaluate('localStorage.length'), 0)
    }
    await page.evaluate(`localStorage.setItem('pohf-reader-list', '{"everybody":true}')`)
    await page.reload()
    await waitForTone(page, 'known')
    assert.match(
      await listStatus(page),
      /You list nobody\. The kept list is not used\. everybody is not known here/,
    )
  },
)

inBrowser('by keyboard alone a list is made, and the focus stays where it is', async ({ page, fixture }) => {
  await check(page, fixture.issuer.mint('view', vouched))
  await tabTo(page, 'Make a list')
  await page.keyboard.press('Enter')
  await tabTo(page, 'list TEXTAREA')
  await page.keyboard.insertText(JSON.stringify({ trustedIssuers: [company] }))
  await tabTo(page, 'Keep this list')
  await page.keyboard.press('Enter')
  await waitForTone(page, 'ok')
  assert.equal(await page.evaluate('document.activeElement.textContent'), 'Keep this list')
})

inBrowser('the same is said in German', async ({ page, fixture }) => {
  await check(page, fixture.issuer.mint('view', vouched))
  const german = page.locator('.hero details[lang=de]')
  await german.locator('summary').click()
  assert.match(
    await german.innerText(),
    /In einer Sitzung war diese Seite zu sehen\.[^]*wie Sie von login\.example\.com halten\./,
  )
  await lookInEveryView(page, 'verify-words-german')
})
