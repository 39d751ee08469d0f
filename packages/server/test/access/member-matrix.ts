import { randomBytes } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { memberCookie, type Endpoint, type Mode } from '@pohf/protocol'
import type { AgentId } from '../../src/platform/ops/ids.ts'
import { makeToken } from '../../src/platform/ops/tokens.ts'
import type { Harness } from '../fixtures/harness.ts'
import { openBrowser } from '../fixtures/people/member.ts'
import { makeWorker } from '../fixtures/people/worker.ts'

type Outcome = 'passes' | 'sign_in_required' | 'forbidden'
/** Somebody who calls the rows that are for a person. */
export type Visitor = {
  readonly name: string
  readonly headers: Readonly<Record<string, string>>
  readonly reads: Outcome
  readonly writes: Outcome
}
type Agent = { readonly agentId: AgentId; readonly mode: Mode; readonly apiKey: string }

const nothing = { reads: 'sign_in_required', writes: 'sign_in_required' } as const
const everything = { reads: 'passes', writes: 'passes' } as const
const cookieOf = (token: string) => ({ cookie: `${memberCookie}=${token}` })

/** Everybody whom the edge must tell apart, with what each may do. */
export const makeVisitors = async (harness: Harness, agent: Agent): Promise<Visitor[]> => {
  const { origin } = openBrowser(harness)
  const query = (text: string, personId: string) => harness.owner.query(text, [personId])
  const post = async (cookie: string, path: string, body: unknown = {}) => {
    const answer = await harness.call('POST', `/api/members/${path}`, { body, headers: { origin, cookie } })
    if (answer.status !== 200) throw new Error(answer.text)
  }
  const person = () => makeWorker(harness, agent)
  const signedIn = await person()
  const expired = await person()
  await query(
    "update person_logins set expires_at = pohf_now() - interval '1 s' where person_id = $1",
    expired.personId,
  )
  const signedOut = await person()
  await post(signedOut.cookie, 'sign-out')
  const withdrawn = await person()
  await query("update members set consent_ref = 'matrix' where person_id = $1", withdrawn.personId)
  await post(withdrawn.cookie, 'me/withdraw', { memberId: withdrawn.memberId, language: 'en' })
  const erased = await person()
  await post(erased.cookie, 'me/erase', { confirm: 'delete everything' })

  const token = signedIn.cookie.split('=')[1] ?? ''
  const refused = (name: string, headers: Visitor['headers']): Visitor => ({
    name,
    headers: { origin, ...headers },
    ...nothing,
  })
  const foreign = (name: string, headers: Visitor['headers'], reads: Outcome): Visitor => ({
    name,
    headers,
    reads,
    writes: 'forbidden',
  })
  const passing = (name: string, cookie: string): Visitor => ({
    name,
    headers: { origin, cookie },
    ...everything,
  })
  return [
    refused('anonymous', {}),
    refused('malformed cookie', cookieOf(token.slice(1))),
    refused('cookie of another name', { cookie: `pohf_me=${token}` }),
    refused('unknown token', cookieOf(makeToken(harness.ctx.ids, 'lgn_'))),
    refused('token of another cell', cookieOf(token.replace('lgn_aa', 'lgn_zz'))),
    refused('unknown token without a tag', cookieOf(randomBytes(32).toString('base64url'))),
    refused('expired session', { cookie: expired.cookie }),
    refused('signed out', { cookie: signedOut.cookie }),
    refused('erased', { cookie: erased.cookie }),
    refused('API key', { authorization: `Bearer ${agent.apiKey}` }),
    refused('token as API key', { authorization: `Bearer ${token}` }),
    foreign('anonymous of another site', { origin: 'https://evil.example' }, 'sign_in_required'),
    foreign('page of another site', { origin: 'https://evil.example', cookie: signedIn.cookie }, 'passes'),
    foreign('page of no site', { origin: 'null', cookie: signedIn.cookie }, 'passes'),
    foreign('no page at all', { cookie: signedIn.cookie }, 'passes'),
    passing('signed in', signedIn.cookie),
    // Consent is given to one agent; who takes it back stays signed in, and may still read and erase.
    passing('withdrawn', withdrawn.cookie),
  ]
}

/** Every way in which a listener treats somebody otherwise than the table says. */
export const memberFaults = async (
  listener: FastifyInstance,
  rows: readonly Endpoint[],
  visitors: readonly Visitor[],
): Promise<string[]> => {
  const faults: string[] = []
  for (const row of rows)
    for (const visitor of visitors) {
      const reads = row.method === 'GET'
      const answer = await listener.inject({
        method: row.method,
        url: row.path.replaceAll(/\{\w+\}/g, 'none'),
        headers: { ...visitor.headers, ...(reads ? {} : { 'content-type': 'application/json' }) },
        // No JSON: whoever is let in changes nothing, and who is refused was refused before it was read.
        ...(reads ? {} : { payload: '{' }),
      })
      const { error } = answer.json<{ error?: string }>()
      const got = error === 'sign_in_required' || error === 'forbidden' ? error : 'passes'
      const wanted = reads ? visitor.reads : visitor.writes
      if (got !== wanted)
        faults.push(`${row.method} ${row.path} for ${visitor.name}: ${got} (${error}), wanted ${wanted}`)
    }
  return faults
}
