import { setTimeout as sleep } from 'node:timers/promises'
import type { Assurance, RootClaim } from '@pohf/protocol'
import type { TestResponse } from '../../../server/test/fixtures/harness.ts'
import type { Attempt, Outcome } from './family.ts'

type Claims = { readonly assurance: Assurance; readonly roots?: readonly RootClaim[] }

const claimsOf = (jwt: string): Claims =>
  JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString('utf8')) as Claims

/** What an answer of a mint came to. A credential without the claim `roots` rests on the network alone. */
export const outcomeOf = ({ status, json }: TestResponse): Outcome => {
  const { pohf_jwt: jwt, error, onchain } = (json ?? {}) as Record<string, unknown>
  if (status !== 200 || typeof jwt !== 'string')
    return { refused: typeof error === 'string' ? error : `status ${status}` }
  const { assurance, roots } = claimsOf(jwt)
  return {
    assurance,
    root: roots?.[0]?.kind ?? 'network',
    onchain: onchain !== undefined,
  }
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
