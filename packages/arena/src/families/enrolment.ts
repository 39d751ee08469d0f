// Families that enrol as members with passkeys in software.
import { makePasskey } from '../../../server/test/fixtures/people/authenticator.ts'
import { invite, openBrowser } from '../../../server/test/fixtures/people/member.ts'
import { makeWalletClients, newWallet } from '../../../server/test/fixtures/people/wallet-clients.ts'
import { callOver } from '../../../server/test/fixtures/processes/attacked-server.ts'
import { launchBrowser } from '../bots/index.ts'
import { addVirtualAuthenticator, openStealthPage, passCheckByKeys, pressIn } from '../browser/stealth.ts'
import type { Attempt, Outcome, PlayedFamily } from './family.ts'
import { askSite, outcomeOf, pollUntilScored, submitPresence } from './mint.ts'
import { playBot } from './sessions.ts'

/** Enrols by script: a passkey of its own making, and the attention check by its words. */
export const enrolByScript = async (attempt: Attempt): Promise<string> => {
  const { server, site, address } = attempt
  const call = callOver(server.url, { 'x-forwarded-for': address })
  const browser = openBrowser({ ctx: { config: { BASE_URL: server.url } }, call })
  const { memberId, token } = await invite(server, site.apiKey)
  const agreed = await browser.agree(token, makePasskey())
  if (agreed.status !== 200) throw new Error(`enrolment refused: ${agreed.text}`)
  const { site: checkSite, challenge } = agreed.json as { site: string; challenge: string }
  const sessionId = await playBot('lean_script', attempt, { site: checkSite, challenge })
  const checked = await pollUntilScored(() => browser.post('attention', { token, sessionId }))
  if (checked.status !== 200) throw new Error(`attention check refused: ${checked.text}`)
  return memberId
}

/** Asks for personhood with a new wallet, so that the answer says whether a token for the chain came with it. */
const personhoodWithWallet = async (attempt: Attempt, memberId: string): Promise<Outcome> => {
  const { proofFor } = makeWalletClients(attempt.server)
  const proof = await proofFor(attempt.site.apiKey, memberId, newWallet())
  return outcomeOf(await askSite(attempt, 'verify-personhood', proof))
}

const enrolLoop: PlayedFamily = {
  name: 'enrol_loop',
  kind: 'personhood',
  manyNetworks: false,
  hasBrowser: false,
  fixed: [],
  aim: 'authenticator',
  play: async (attempt) => [await personhoodWithWallet(attempt, await enrolByScript(attempt))],
}

/** A member is enrolled once and is then at many places. */
const presencesPerMember = 10
const enrolLoopPresence: PlayedFamily = {
  name: 'enrol_loop',
  kind: 'presence',
  manyNetworks: true,
  hasBrowser: false,
  fixed: [],
  aim: 'authenticator',
  play: async (attempt) => {
    const memberId = await enrolByScript(attempt)
    const outcomes: Outcome[] = []
    for (let n = 0; n < presencesPerMember; n += 1) outcomes.push(await submitPresence(attempt, memberId))
    return outcomes
  },
}

/** Enrols on the pages of the service, in a headless browser with an authenticator in software. */
const stealthPersonhood: PlayedFamily = {
  name: 'stealth_browser',
  kind: 'personhood',
  manyNetworks: false,
  hasBrowser: true,
  fixed: [],
  aim: 'authenticator',
  play: async (attempt) => {
    const { memberId, enrolUrl } = await invite(attempt.server, attempt.site.apiKey)
    const { context, page } = await openStealthPage(await launchBrowser())
    try {
      await addVirtualAuthenticator(page)
      await page.goto(enrolUrl)
      await page.locator('input[name=agree]').check()
      await page.locator('#step-consent button.main').click()
      await page.locator('#step-codes:visible button').click()
      await page.locator('#step-check:visible pohf-check').waitFor()
      await passCheckByKeys(page, pressIn(page))
      await page.locator('#step-done:visible').waitFor()
    } finally {
      await context.close()
    }
    return [await personhoodWithWallet(attempt, memberId)]
  },
}

export const enrolmentFamilies: readonly PlayedFamily[] = [enrolLoop, enrolLoopPresence, stealthPersonhood]
