import { consoleCookie } from '@pohf/protocol'
import { makeToken } from '../../src/platform/ops/tokens.ts'
import type { Harness } from '../fixtures/harness.ts'
import { enter, makeAccount, makeColleague, openConsole, type Account } from '../fixtures/people/console.ts'
import type { Visitor } from './member-matrix.ts'

const nothing = { reads: 'sign_in_required', writes: 'sign_in_required' } as const
const everything = { reads: 'passes', writes: 'passes' } as const
const cookieOf = (token: string | undefined) => ({ cookie: `${consoleCookie}=${token}` })

/** Cookies of sessions that have ended, each in its own way. */
const endedCookies = async (harness: Harness, account: Account): Promise<Record<string, string>> => {
  const query = (text: string, personId: string) => harness.owner.query(text, [personId])
  const person = () => makeColleague(harness, account, 'developer')
  const ended: Record<string, string> = {}
  const keep = (name: string, token: string | undefined) => {
    ended[name] = token ?? ''
  }
  const expired = await person()
  keep('expired session', expired.browser.session())
  await query('update account_sessions set expires_at = pohf_now() where person_id = $1', expired.personId)
  const idle = await person()
  keep('idle session', idle.browser.session())
  await query(
    "update account_sessions set last_seen_at = pohf_now() - interval '4 hours' where person_id = $1",
    idle.personId,
  )
  const signedOut = await person()
  keep('signed out', signedOut.browser.session())
  await signedOut.browser.post('sign-out')
  const again = await person()
  keep('signed in again', again.browser.session())
  await enter(harness, again.browser, again.email)
  const removed = await person()
  keep('removed', removed.browser.session())
  await account.owner.remove(`people/${removed.personId}`)
  return ended
}

/** Everybody whom the edge must tell apart at the rows of the console, with what each may do. */
export const makeConsoleVisitors = async (
  harness: Harness,
  member: { readonly cookie: string; readonly apiKey: string },
): Promise<Visitor[]> => {
  const account = await makeAccount(harness)
  const { owner } = account
  const { origin } = owner
  const token = owner.session() ?? ''
  const refused = (name: string, headers: Visitor['headers']): Visitor => ({
    name,
    headers: { origin, ...headers },
    ...nothing,
  })
  const foreign = (name: string, headers: Visitor['headers'], reads: Visitor['reads']): Visitor => ({
    name,
    headers: { ...cookieOf(token), ...headers },
    reads,
    writes: 'forbidden',
  })
  const passing = (name: string, session: string | undefined): Visitor => ({
    name,
    headers: { origin, 'sec-fetch-site': 'same-origin', ...cookieOf(session) },
    ...everything,
  })
  const asking = openConsole(harness)
  await asking.post('sign-in', { email: account.email })
  const ended = Object.entries(await endedCookies(harness, account))
  return [
    refused('anonymous', {}),
    refused('malformed cookie', cookieOf(token.slice(1))),
    refused('cookie of another name', { cookie: `pohf_console=${token}` }),
    refused('unknown token', cookieOf(makeToken(harness.ctx.ids, 'cso_'))),
    refused('token of another cell', cookieOf(token.replace('cso_aa', 'cso_zz'))),
    refused('browser that waits for a link', cookieOf(asking.browser())),
    ...ended.map(([name, session]) => refused(name, cookieOf(session))),
    refused('member', { cookie: member.cookie }),
    refused('API key', { authorization: `Bearer ${member.apiKey}` }),
    refused('console token', { authorization: `Bearer ${await owner.bearer('live')}` }),
    refused('token as bearer', { authorization: `Bearer ${token}` }),
    foreign('page of another site', { origin: 'https://evil.example' }, 'passes'),
    foreign(
      'page of another site in a browser',
      { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
      'forbidden',
    ),
    foreign('page of a sibling host', { origin, 'sec-fetch-site': 'same-site' }, 'forbidden'),
    foreign('no page at all', {}, 'passes'),
    passing('owner', token),
    passing('developer', (await makeColleague(harness, account, 'developer')).browser.session()),
    passing('viewer', (await makeColleague(harness, account, 'viewer')).browser.session()),
  ]
}
