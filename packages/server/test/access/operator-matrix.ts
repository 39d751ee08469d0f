import { operatorCookie } from '@pohf/protocol'
import { makeToken } from '../../src/platform/ops/tokens.ts'
import type { Harness } from '../fixtures/harness.ts'
import { makeSignedInOperator, openOperatorPage } from '../fixtures/people/operator-page.ts'
import type { Visitor } from './member-matrix.ts'

const cookieOf = (token: string | undefined) => ({ cookie: `${operatorCookie}=${token}` })

/** Cookies of sessions that have ended, each in its own way. */
const endedCookies = async (harness: Harness): Promise<Record<string, string | undefined>> => {
  const change = (text: string, operatorId: string) =>
    harness.owner.query(`update operator_sessions set ${text} where operator_id = $1`, [operatorId])
  const expired = await makeSignedInOperator(harness)
  await change('expires_at = pohf_now()', expired.operatorId)
  const idle = await makeSignedInOperator(harness)
  await change("last_seen_at = pohf_now() - interval '30 minutes'", idle.operatorId)
  const signedOut = await makeSignedInOperator(harness)
  const signedOutSession = signedOut.page.session()
  await signedOut.page.post('sign-out')
  const again = await makeSignedInOperator(harness)
  const firstSession = again.page.session()
  await again.page.usePasskey(again.passkey)
  const revoked = await makeSignedInOperator(harness)
  await harness.callOperator('POST', `/operator/operators/${revoked.operatorId}/revoke`, {
    key: again.operatorKey,
  })
  return {
    'expired session': expired.page.session(),
    'idle session': idle.page.session(),
    'signed out': signedOutSession,
    'signed in again': firstSession,
    'revoked operator': revoked.page.session(),
  }
}

const visitor = (name: string, headers: Visitor['headers'], writes: Visitor['writes']): Visitor => ({
  name,
  headers,
  // There is no row to read.
  reads: 'sign_in_required',
  writes,
})

/** Everybody whom the edge must tell apart at the row for the session of an operator, with what each may do. */
export const makeOperatorVisitors = async (
  harness: Harness,
  others: { readonly memberCookie: string; readonly consoleCookie: string; readonly apiKey: string },
): Promise<Visitor[]> => {
  const { page, operatorKey } = await makeSignedInOperator(harness)
  const { origin } = page
  const token = page.session() ?? ''
  const refused = (name: string, headers: Visitor['headers']) =>
    visitor(name, { origin, ...headers }, 'sign_in_required')
  const foreign = (name: string, headers: Visitor['headers']) =>
    visitor(name, { ...cookieOf(token), ...headers }, 'forbidden')
  const asking = openOperatorPage(harness)
  await asking.post('options')
  return [
    refused('anonymous', {}),
    refused('malformed cookie', cookieOf(token.slice(1))),
    refused('cookie of another name', { cookie: `pohf_operator=${token}` }),
    refused('unknown token', cookieOf(makeToken(harness.ctx.ids, 'ops_'))),
    refused('token of another cell', cookieOf(token.replace('ops_aa', 'ops_zz'))),
    refused('browser that signs in', cookieOf(asking.browser())),
    ...Object.entries(await endedCookies(harness)).map(([name, session]) => refused(name, cookieOf(session))),
    refused('member', { cookie: others.memberCookie }),
    refused('person of an account', { cookie: others.consoleCookie }),
    refused('API key', { authorization: `Bearer ${others.apiKey}` }),
    refused('operator key', { authorization: `Bearer ${operatorKey}` }),
    refused('bearer of an operator', { authorization: `Bearer ${await page.bearer()}` }),
    refused('token as bearer', { authorization: `Bearer ${token}` }),
    foreign('page of another site', { origin: 'https://evil.example' }),
    foreign('page of the public listener', { origin: harness.ctx.config.BASE_URL }),
    foreign('page of a sibling host', { origin, 'sec-fetch-site': 'same-site' }),
    foreign('no page at all', {}),
    visitor('signed in', { origin, 'sec-fetch-site': 'same-origin', ...cookieOf(token) }, 'passes'),
  ]
}
