// The whole way: a publisher's page with the check, a person who passes it, the publisher's server that asks once, and a
// relying party that checks the credential by itself. Then a bot on the same page.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { verifyCredential, type Fetch, type Policy } from '@pohf/verify'
import { builtPages } from '../../server/test/fixtures/processes/built-pages.ts'
import { findChromium, launch } from '../../web/test/browser.ts'
import { startSite } from '../../demo/src/site.ts'
import { answerAll, startFixture, sessionOf, trackSession } from '../../tag/test/fixture.ts'
import { missingForPerson, playPerson } from '../src/index.ts'

const chromium = findChromium()
const missing = missingForPerson()
const skip =
  missing.length > 0 ? `not installed: ${missing.join(', ')}` : 'missing' in chromium && chromium.missing

const open = async () => {
  const folder = await builtPages('demo')
  const fixture = await startFixture()
  const { harness } = fixture
  // A live agent with a confirmed mail address: its first thousand a month are free.
  const { agentId, apiKey } = await harness.register('live')
  await harness.owner.query('update agents set email_confirmed_at = pohf_now() where agent_id = $1', [
    agentId,
  ])
  const site = await startSite({ pohf: fixture.service.url, site: agentId, apiKey, port: 0, folder })
  return { fixture, harness, site, agentId, apiKey }
}
const sample = skip === false ? await open() : undefined
after(async () => {
  await sample?.site.stop()
  sample?.fixture.close()
})

type JourneyFixture = NonNullable<typeof sample>
const policyFor = (challenge: string): Policy => ({
  kinds: ['view'],
  minAssurance: 'low',
  minQuality: 0.6,
  status: 'if-present',
  challenge,
})
/** What the relying party does: it has the public keys and its own challenge, and trusts nobody's answer. */
const verifyOffline = ({ harness }: JourneyFixture, jwt: string, challenge: string) => {
  const fromService: Fetch = async (url) => {
    const answer = await harness.call('GET', new URL(url).pathname)
    return new Response(answer.text, { status: answer.status })
  }
  const issuer = harness.ctx.config.BASE_URL
  return verifyCredential(jwt, { issuer, policy: policyFor(challenge), fetch: fromService })
}
const verify = ({ harness, apiKey }: JourneyFixture, sessionId: string) =>
  harness.call('POST', '/api/agents/verify', { key: apiKey, body: { sessionId } })

/** One visit of the person: the comment is written, the check passed, the form sent. */
const visit = async (given: JourneyFixture, seed: number) => {
  const person = await playPerson({ url: given.site.url, seed, signal: AbortSignal.timeout(150_000) })
  try {
    const challenge = (await person.page.getAttribute('pohf-check', 'challenge')) ?? ''
    await person.type('#text', 'At last.')
    const { sessionId } = await person.passCheck()
    if ((await person.page.locator('pohf-check [data-state=passed]').count()) === 0)
      return { challenge, sessionId, chip: await person.page.locator('pohf-check .w').innerText() }
    // The button moves while the check closes: a press that missed it is made again.
    const send = async (timeout: number) => {
      await person.press('form button[type="submit"], form button:not([type])')
      await person.page.waitForSelector('pre', { timeout })
    }
    await send(20_000).catch(() => send(60_000))
    const chip = await person.page.textContent('main > p:not(.brand) > .chip')
    return { challenge, sessionId, chip }
  } finally {
    await person.close()
  }
}

test(
  'a person passes the check on a page, and the relying party accepts the credential with its challenge',
  { skip },
  async (t) => {
    assert.ok(sample)
    // A person may miss a question on a busy machine, and would try again.
    let seen = await visit(sample, 1)
    for (let again = 2; again <= 3 && seen.chip !== 'Person'; again += 1) {
      t.diagnostic(`visit ${again}: the last one ended as "${seen.chip}"`)
      seen = await visit(sample, again)
    }
    assert.equal(seen.chip, 'Person')
    const { json, headers } = await verify(sample, seen.sessionId)
    assert.equal(headers['idempotent-replayed'], 'true', 'the site has minted it; asking again costs nothing')
    t.diagnostic(`quality ${json.quality}, assurance ${json.assurance}`)
    const accepted = await verifyOffline(sample, json.pohf_jwt, seen.challenge)
    assert.ok(accepted.ok, accepted.ok ? '' : accepted.message)
    assert.equal(accepted.claims.test, undefined)
    assert.equal(accepted.claims.assurance, 'low', 'no device, no member: this is all that it says')
    const elsewhere = await verifyOffline(sample, json.pohf_jwt, 'the challenge of another page')
    assert.ok(!elsewhere.ok && elsewhere.reason === 'wrong_challenge')
  },
)

test('a bot on the same page is told so by the check, and nothing is charged', { skip }, async () => {
  assert.ok(sample && 'path' in chromium)
  const browser = await launch(chromium.path)
  try {
    const page = await browser.newPage()
    trackSession(page)
    await page.goto(sample.site.url)
    await page.fill('#text', 'Buy now.')
    await page.click('pohf-check .go')
    // It is told every right place: even so.
    await answerAll(page, sample.fixture)
    await page.locator('pohf-check [data-state=failed]').waitFor()
    await page.getByRole('button', { name: 'Send the comment' }).click()
    await page.getByText('It came without the check').waitFor()
    const before = await sample.harness.call('GET', '/api/agents/credits/balance', { key: sample.apiKey })
    const refused = await verify(sample, sessionOf(page))
    assert.equal(refused.json.error, 'session_rejected')
    assert.ok(refused.json.details.some(({ code }: { code: string }) => code === 'flag_automation_env'))
    const afterwards = await sample.harness.call('GET', '/api/agents/credits/balance', {
      key: sample.apiKey,
    })
    assert.equal(afterwards.json.freeRemaining, before.json.freeRemaining)
  } finally {
    await browser.close()
  }
})
