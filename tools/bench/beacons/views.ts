import { join } from 'node:path'
import { makeIds } from '../../../packages/server/src/platform/ops/ids.ts'
import { loadSecrets } from '../../../packages/server/src/platform/ops/secrets.ts'
import { makeViewToken } from '../../../packages/server/src/sessions/index.ts'
import type { VerifyFixture } from '../verify-fixture.ts'

/** Verified views of the agents in turn, and a token for each. */
export const seedViews = async (
  { servers, agents, client }: VerifyFixture,
  prefix: string,
  count: number,
): Promise<string[]> => {
  const { rows } = await client.query<{ agent_id: string; session_id: string; at: Date }>(
    `with view as (
       select ($1::text[])[1 + i % cardinality($1::text[])] as agent_id, $2 || i as session_id, pohf_now() as at
       from generate_series(0, $3::int - 1) i
     ), claim as (
       insert into session_claims (agent_id, mode, session_id, at) select agent_id, 'live', session_id, at from view
     )
     insert into sessions (agent_id, mode, session_id, at, kind, status, ended_at, quality, verified, assurance, hostname)
     select agent_id, 'live', session_id, at, 'view', 'scored', at, 0.7, true, 'low', 'shop.example' from view
     returning agent_id, session_id, at`,
    [agents, prefix, count],
  )
  await client.query('analyze sessions, session_claims, track_views')
  const ids = makeIds('aa', { now: () => new Date() })
  const secrets = loadSecrets(join(servers.folder, 'secrets'))
  return rows.map(({ agent_id: agentId, session_id: sessionId, at }) =>
    makeViewToken({ ids, secrets }, { agentId, mode: 'live', sessionId, viewedAt: at }),
  )
}

/** A whole request in the form of sendBeacon. */
export const beaconRequest = (body: string): string =>
  `POST /api/track/event HTTP/1.1\r\nhost: localhost\r\norigin: https://shop.example\r\ncontent-type: text/plain;charset=UTF-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`

/** What the browser asks before a beacon of another type: the same server's bare 204. */
export const preflightRequest =
  'OPTIONS /api/track/event HTTP/1.1\r\nhost: localhost\r\norigin: https://shop.example\r\naccess-control-request-method: POST\r\naccess-control-request-headers: content-type\r\n\r\n'
