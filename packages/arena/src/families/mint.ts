import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Assurance, RootClaim } from '@pohf/protocol'
import type { TestResponse } from '../../../server/test/fixtures/harness.ts'
import type { Attempt, Outcome } from './family.ts'

type Claims = { readonly sub: string; readonly assurance: Assurance; readonly roots?: readonly RootClaim[] }

const claimsOf = (jwt: string): Claims =>
  JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString('utf8')) as Claims

/** What an answer of a mint came to. A credential without the claim `roots` rests on the network alone. */
export const outcomeOf = ({ status, json }: TestResponse): Outcome => {
  const { pohf_jwt: jwt, error, onchain } = (json ?? {}) as Record<string, unknown>
  if (status !== 200 || typeof jwt !== 'string')
    return { refused: typeof error === 'string' ? error : `status ${status}` }
  const { sub, assurance, roots = [] } = claimsOf(jwt)
  const [strongest = 'network', ...others] = roots.map(({ kind }) => kind)
  return { assurance, roots: [strongest, ...others], onchain: onchain !== undefined, subject: sub }
}

/** A worker of the server scores a session soon after its end. */
const attemptsMax = 80
/** Calls until the session is scored. */
export const pollUntilScored = async (ask: () => Promise<TestResponse>): Promise<TestResponse> => {
  for (let attempt = 0; ; attempt += 1) {
    const answer = await ask()
    const { error } = (answer.json ?? {}) as Record<string, unknown>
    if (error !== 'session_not_ready' || attempt === attemptsMax) return answer
    await sleep(250)
  }
}

/** The site asks for a credential, as it does for every visitor. */
export const askSite = ({ server, site }: Attempt, path: string, body: unknown): Promise<TestResponse> =>
  pollUntilScored(() => server.call('POST', `/api/agents/${path}`, { key: site.apiKey, body }))

export const verifySession = async (attempt: Attempt, sessionId: string): Promise<Outcome> =>
  outcomeOf(await askSite(attempt, 'verify', { sessionId }))

/** The member is wherever the script says. */
export const submitPresence = async (attempt: Attempt, memberId: string): Promise<Outcome> => {
  const photoHash = randomBytes(32).toString('hex')
  const { server, site } = attempt
  const submitted = await server.call('POST', '/api/kinetic/submit', {
    key: site.apiKey,
    body: { memberId, source: 'geo_photo', lat: 48.1, lng: 11.5, photoHash },
  })
  const { sessionId } = (submitted.json ?? {}) as { sessionId?: string }
  return sessionId === undefined ? outcomeOf(submitted) : verifySession(attempt, sessionId)
}
