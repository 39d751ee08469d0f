import type { Mode } from '@pohf/protocol'
import type { Answered, Harness } from './harness.ts'
import { createPasskey, makePasskey, usePasskey, type Passkey, type Vouching } from './passkey-maker.ts'
import { play, type Play } from './person.ts'

/** One browser of one person: it keeps the login cookie, and its passkeys. */
export const openBrowser = (harness: Harness) => {
  const port = new URL(harness.ctx.config.BASE_URL).port
  const origin = `http://localhost${port ? `:${port}` : ''}`
  let cookie: string | undefined
  const post = async (path: string, body: unknown, from = origin): Promise<Answered> => {
    const answer = await harness.call('POST', `/api/members/${path}`, {
      body,
      headers: { origin: from, ...(cookie === undefined ? {} : { cookie }) },
    })
    const set = answer.headers['set-cookie']
    if (typeof set === 'string') cookie = set.split(';')[0]
    return answer
  }
  const get = (path: string): Promise<Answered> =>
    harness.call('GET', `/api/members/${path}`, cookie === undefined ? {} : { headers: { cookie } })
  const challengeFor = async (purpose: 'create' | 'sign_in', token?: string): Promise<string> =>
    (await post('passkey-options', { purpose, token })).json.publicKey.challenge
  return {
    origin,
    post,
    get,
    cookie: () => cookie,
    forget: () => {
      cookie = undefined
    },
    /** Agrees with a new passkey. */
    agree: async (
      token: string,
      passkey: Passkey,
      vouching: Vouching = { fmt: 'none' },
      flags = 5,
    ): Promise<Answered> => {
      const challenge = await challengeFor('create', token)
      const credential = createPasskey(passkey, { challenge, origin, flags }, vouching)
      return post('enrol', { token, consentVersion: '2026-11', language: 'en', credential })
    },
    signIn: async (passkey: Passkey, flags = 5, counter = 0): Promise<Answered> => {
      const challenge = await challengeFor('sign_in')
      return post('sign-in', { credential: usePasskey(passkey, { challenge, origin, flags, counter }) })
    },
  }
}
export type PersonBrowser = ReturnType<typeof openBrowser>

export const invite = async (harness: Harness, apiKey: string, externalRef?: string) => {
  const { status, json, text } = await harness.call('POST', '/api/agents/members', {
    key: apiKey,
    body: { externalRef },
  })
  if (status !== 200) throw new Error(text)
  const { memberId, enrolUrl } = json as { memberId: string; enrolUrl: string }
  return { memberId, enrolUrl, token: enrolUrl.split('/m/')[1] ?? '' }
}

/** A live agent that may mint. */
export const registerPaying = async (harness: Harness, mode: Mode, mail: string) => {
  const agent = await harness.register(mode, mail)
  await harness.owner.query('update agents set email_confirmed_at = pohf_now() where agent_id = $1', [
    agent.agentId,
  ])
  return agent
}

/** Answers the questions as an attentive person, and ties them to the invitation. */
export const attend = async (
  harness: Harness,
  browser: PersonBrowser,
  check: { readonly token: string; readonly site: string; readonly challenge: string },
  strokes: Play['strokes'] = [],
) => {
  const { sessionId } = await play(harness, { site: check.site, challenge: check.challenge, strokes })
  return { sessionId, answer: await browser.post('attention', { token: check.token, sessionId }) }
}

/** The whole way of one person to one agent. */
export const enrolPerson = async (
  harness: Harness,
  agent: { readonly apiKey: string },
  options: {
    readonly browser?: PersonBrowser
    readonly passkey?: Passkey
    readonly externalRef?: string
    readonly strokes?: Play['strokes']
  } = {},
) => {
  const browser = options.browser ?? openBrowser(harness)
  const passkey = options.passkey ?? makePasskey()
  const invited = await invite(harness, agent.apiKey, options.externalRef)
  const agreed =
    browser.cookie() === undefined
      ? await browser.agree(invited.token, passkey)
      : await browser.post('enrol', { token: invited.token, consentVersion: '2026-11', language: 'en' })
  if (agreed.status !== 200) throw new Error(agreed.text)
  const { site, challenge, recoveryCodes } = agreed.json as {
    site: string
    challenge: string
    recoveryCodes?: string[]
  }
  const { sessionId, answer } = await attend(
    harness,
    browser,
    { token: invited.token, site, challenge },
    options.strokes,
  )
  if (answer.status !== 200) throw new Error(answer.text)
  return { ...invited, browser, passkey, sessionId, challenge, site, recoveryCodes: recoveryCodes ?? [] }
}
