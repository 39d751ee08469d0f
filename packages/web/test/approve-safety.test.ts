import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { approvalView, envelopeHash, viewHash, visibleText } from '@pohf/verify/approvals'
import type { Page } from 'playwright-core'
import { build } from 'vite'
import { ruleOf } from '../../server/test/fixtures/people/approvals.ts'
import { makeApproval } from '../../server/test/fixtures/people/approver.ts'
import { definition, envelopeOf, trickyTexts } from '../../verify/test/approvals-envelope.ts'
import {
  answerByWordsButton,
  approve,
  createApproverTest,
  heading,
  invoice,
  readyToApprove,
  referencePhone,
} from './approver-browser.ts'
import { readDrawn, type Drawn } from './drawn.ts'
import { checkPage, desktop } from './worker-browser.ts'

const { inBrowser, skip, fixture, browser } = await createApproverTest()

inBrowser('somebody else decided while the page was open', referencePhone, async (opened) => {
  const second = await opened.another()
  const approvalId = await opened.request({}, [opened.person, second])
  await opened.person.open(approvalId)
  await second.open(approvalId)
  for (const { page } of [opened.person, second])
    await page.getByRole('button', { name: 'Deny', exact: true }).click()
  await second.page.getByRole('button', { name: 'Deny without words' }).click()
  await heading(second.page, 'You denied this')
  await opened.person.page.getByRole('button', { name: 'Deny without words' }).click()
  await heading(opened.person.page, 'Somebody else denied this.')
})

inBrowser('nothing of the agent is HTML, and hidden characters are marked', desktop, async (opened) => {
  const { page } = opened.person
  const trap = '<img src=x onerror="document.title=1"><script>document.title=2</script>'
  await opened.person.open(
    await opened.request({
      action: {
        ...invoice,
        recipient: 'N\u043erthwind',
        memo: `${trap}\u202e`,
        '<b>key</b>': true,
        note: '',
        amount: 5,
      },
      title: `${trap}\u2066`,
      summary: 'zero\u200bwidth\nsecond line',
    }),
  )
  await heading(page, 'Pay an invoice?')
  await page.locator('pohf-questions .ask').waitFor()
  const shown = await page.locator('main').textContent()
  assert.ok(shown?.includes(trap))
  for (const mark of ['U+202E', 'U+2066', 'U+200B'])
    assert.ok((await page.locator('mark', { hasText: mark }).count()) > 0, mark)
  await page.getByText('Mixes letters of different scripts that look alike.').first().waitFor()
  await page.getByText('a number').waitFor()
  await page.getByText('Empty text').waitFor()
  await page.getByText('/<b>key<').waitFor()
  assert.equal(await page.locator('main img, main script, dd b').count(), 0)
  assert.doesNotMatch(await page.title(), /^[12]$/)
  await page.getByText('The request as signed (JSON)').click()
  assert.doesNotMatch((await page.locator('pre').textContent()) ?? '', /[\u202e\u2066\u200b]/)
  await checkPage(page, 'hostile-wide')
})

/** Each row of the page: its label, its value, its notes, and whether both are drawn in the order of their characters. */
const readRows = async (page: Page) => {
  const rows = `[...document.querySelectorAll('.key > dl > div, .facts > div:has(.value)')]`
  const drawn = await page.evaluate<Drawn[]>(
    readDrawn(`${rows}.flatMap((row) => [row.querySelector('dt'), row.querySelector('.value')])`),
  )
  const notes = await page.evaluate<string[][]>(
    `${rows}.map((row) => [...row.querySelectorAll('.noted')].map((note) => note.textContent))`,
  )
  return notes.map((own, index) => {
    const [label, value] = [drawn[2 * index], drawn[2 * index + 1]]
    assert.ok(label?.inOrder && value?.inOrder, `${label?.text}: ${value?.text}`)
    return [label.text, value.text, ...own] as const
  })
}

inBrowser('what is approved is what was seen, character by character', referencePhone, async (opened) => {
  const { page } = opened.person
  const alike = 'Contains characters that look like other letters, digits or separators.'
  const rightToLeft =
    'Contains letters that are written from right to left. They are shown from left to right, in the order that is signed.'
  const shown: Record<string, readonly string[]> = {
    '12\u20115555': [alike],
    '1\u201a000': [alike],
    'paypal\u2024com': [alike],
    '\u0440\u0430\u0443\u0440\u0430\u04cf': [alike],
    '\u05d0\u05be\u05d1 \u05d2': [rightToLeft],
    'Invoice 12 for \u05d3\u05d5\u05d3': [rightToLeft],
    '12-5555-7890-3456': [],
  }
  const values = Object.keys(shown)
  const action = {
    ...Object.fromEntries(values.map((value, index) => [`field ${'abcdefg'[index] ?? ''}`, value])),
    '\u05e9\u05dc  \u05d5\u05dd': 'key',
  }
  const approvalId = await opened.request({ type: 'test.pay', action, summary: '5 \u05d0-\u05d1 6\u0336' })
  await opened.person.open(approvalId)
  await page.locator('pohf-questions .ask').waitFor()
  const rows = await readRows(page)
  assert.deepEqual(rows.slice(0, values.length + 1), [
    ...values.map((value, index) => [`/field ${'abcdefg'[index]}`, value, ...(shown[value] ?? [])]),
    ['/\u05e9\u05dc  \u05d5\u05dd', 'key', rightToLeft],
  ])
  // The words of the agent are not refused: the same rules draw them.
  const words = rows.at(-1)
  assert.equal(words?.[1], '5 U+05D0-U+05D1 6U+0336')
  assert.ok(words.includes('Contains a character that no value may have. It is shown by its code point.'))
  await checkPage(page, 'look-alikes')
  await answerByWordsButton(page)
  await readyToApprove(page)
  await approve(page)
  await heading(page, 'You approved this')
  const { json } = await opened.administration.read(approvalId)
  assert.deepEqual([json.status, json.envelope.action], ['approved', action])
})

inBrowser(
  'a stored value that can be mistaken has no button that approves it',
  referencePhone,
  async (opened) => {
    const { page } = opened.person
    const values = [
      '12\u05be5555\u05be7890\u05be3456',
      '15\u05f300',
      '10 \u05d0 200 EUR',
      '9\u03369\u03369\u0336 10',
      '\u{1d40f}aypal',
      '\u2460\u2776',
      '\u2163',
    ]
    const { agentId } = opened.administration
    for (const [index, account] of values.entries()) {
      const refused = await opened.administration.request({
        type: 'invoice.pay',
        requestId: `refused-${index}`,
        approvers: [opened.person.approver],
        action: { ...invoice, account },
      })
      assert.equal(ruleOf(refused), 'approval_refused value_not_permitted')
      // Stored all the same, as by an earlier version.
      const made = await makeApproval(opened.fixture.harness, { agentId, mode: 'test' }, [opened.person], {
        action: { account },
      })
      await opened.person.open(made.approvalId)
      await page.getByText('contains a character that can be mistaken for another').waitFor()
      assert.equal(await page.locator('.yes').count(), 0)
      const [row] = await readRows(page)
      assert.doesNotMatch(row?.[1] ?? '', /[^ -~]/)
      assert.ok(row?.[2]?.startsWith('Contains a character that no value may have.'))
    }
    await checkPage(page, 'not-permitted')
    await page.getByRole('button', { name: 'Deny', exact: true }).click()
    await page.getByRole('button', { name: 'Deny without words' }).click()
    await heading(page, 'You denied this')
  },
)

inBrowser(
  'a device that signs nothing decides nothing, and a challenge of something else is never signed',
  referencePhone,
  async (opened) => {
    const { page, devtools } = opened.person
    const approvalId = await opened.request()
    await opened.person.open(approvalId)
    await answerByWordsButton(page)
    await readyToApprove(page)
    // What browsers answer to somebody who closes the prompt.
    await page.evaluate(`
      const { get } = CredentialsContainer.prototype
      CredentialsContainer.prototype.get = function () {
        CredentialsContainer.prototype.get = get
        return Promise.reject(new DOMException('', 'NotAllowedError'))
      }`)
    await approve(page)
    await page.getByText('Your device did not complete this.').waitFor()
    let signed = 0
    devtools.on('WebAuthn.credentialAsserted', () => {
      signed += 1
    })
    await page.route('**/options', async (route) => {
      const answer = await route.fetch()
      const json = (await answer.json()) as { publicKey: Record<string, unknown> }
      json.publicKey['challenge'] = 'A'.repeat(43)
      await route.fulfill({ json })
    })
    await approve(page)
    await page.getByText('Your device was asked to sign something other').waitFor()
    assert.equal(signed, 0)
    await checkPage(page, 'challenge-mismatch')
    assert.equal((await opened.administration.read(approvalId)).json.status, 'pending')
  },
)

inBrowser('an envelope that is not the hashed one is not shown', referencePhone, async (opened) => {
  const { page } = opened.person
  await page.route('**/api/approve/approvals/apl_*', async (route) => {
    const answer = await route.fetch()
    const json = (await answer.json()) as { envelope: { action: Record<string, unknown> } }
    json.envelope.action['amount'] = '$1.00'
    await route.fulfill({ json })
  })
  await opened.person.open(await opened.request())
  await heading(page, 'This request cannot be shown safely.')
  assert.equal(await page.locator('.yes').count(), 0)
  await checkPage(page, 'altered')
})

inBrowser(
  'a driven browser is told why, and can try again or deny',
  referencePhone,
  async (opened) => {
    const { page } = opened.person
    await opened.person.open(await opened.request())
    await answerByWordsButton(page)
    await readyToApprove(page)
    await approve(page)
    await page.getByText('The recording does not show enough attention.').waitFor()
    await page.getByText('The browser reports that a program controls it.').waitFor()
    await checkPage(page, 'unverified')
    await page.locator('pohf-questions .ask').waitFor()
    await page.getByRole('button', { name: 'Deny', exact: true }).click()
    await page.getByRole('button', { name: 'Deny without words' }).click()
    await heading(page, 'You denied this')
  },
  true,
)

inBrowser('one signs in by passkey, and nobody else sees a request', referencePhone, async (opened) => {
  const stranger = await opened.another()
  const approvalId = await opened.request()
  await stranger.open(approvalId)
  await heading(stranger.page, 'There is no such request, or it is not for you.')
  const { page, context } = opened.person
  await context.clearCookies()
  await opened.person.open(approvalId)
  await heading(page, 'Requests that wait for your decision.')
  await checkPage(page, 'sign-in')
  await page.getByRole('button', { name: 'Sign in with your passkey' }).click()
  await heading(page, 'Pay an invoice?')
})

test('nothing inline, no picture from elsewhere, and a small script', { skip }, async (t) => {
  assert.ok(fixture)
  for (const path of ['/approve', '/approve/apl_1']) {
    const policy = (await fetch(`${fixture.url}${path}`)).headers.get('content-security-policy') ?? ''
    assert.match(policy, /default-src 'none'.*img-src 'self' data:;/)
    assert.doesNotMatch(policy, /unsafe/)
  }
  const html = await (await fetch(`${fixture.url}/approve`)).text()
  const scripts = [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+\.js)"/g)].map(([, path = '']) => path)
  let bytes = 0
  for (const path of scripts) {
    const text = await (await fetch(`${fixture.url}${path}`)).text()
    assert.doesNotMatch(text, /\beval\(|new Function|document\.cookie|localStorage/)
    bytes += gzipSync(text, { level: 9 }).length
  }
  t.diagnostic(`the scripts of /approve: ${bytes} bytes gzipped`)
  assert.ok(bytes > 0 && bytes <= 40_000, `${bytes} bytes`)
})

/** The renderer as one script, for a page that has none. */
const bundleRenderer = async (): Promise<string> => {
  const entry = fileURLToPath(import.meta.resolve('@pohf/verify/approvals'))
  const built = await build({
    configFile: false,
    logLevel: 'error',
    build: { write: false, lib: { entry, formats: ['iife'], name: 'approvals' } },
  })
  const [result] = [built].flat()
  assert.ok(result && 'output' in result)
  return result.output[0].code
}

test('the same bytes in Node and in Chromium', { skip }, async () => {
  assert.ok(fixture && browser)
  const page = await (await browser.newContext()).newPage()
  await page.goto(`${fixture.url}/approve`)
  await page.evaluate(`${await bundleRenderer()}; globalThis.approvals = approvals`)
  const envelope = envelopeOf(Object.fromEntries(trickyTexts.map((text, index) => [`${index}${text}`, text])))
  const [hash, view] = await page.evaluate<[string, string]>(`(async () => {
    const [envelope, definition] = ${JSON.stringify([envelope, definition])}
    const { approvalView, envelopeHash, viewHash } = approvals
    return [await envelopeHash(envelope), await viewHash(approvalView(envelope, definition))]
  })()`)
  assert.equal(hash, await envelopeHash(envelope))
  assert.equal(view, await viewHash(approvalView(envelope, definition)))
  // Every code point, after a letter and alone.
  const scan = `Array.from({ length: 0x110000 }, (_, code) => code).filter((code) => {
    const character = String.fromCodePoint(code)
    return visibleText('a' + character) !== 'a' + character || visibleText(character) !== character
  })`
  const theirs = new Set(
    await page.evaluate<number[]>(`(() => { const { visibleText } = approvals; return ${scan} })()`),
  )
  const differ = Array.from({ length: 0x110000 }, (_, code) => code).filter((code) => {
    const character = String.fromCodePoint(code)
    const ours = visibleText(`a${character}`) !== `a${character}` || visibleText(character) !== character
    return ours !== theirs.has(code)
  })
  assert.ok(theirs.size > 100_000)
  assert.deepEqual(differ, [])
  await page.context().close()
})
