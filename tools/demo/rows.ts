// Rows that no rule of value depends on, written by SQL: sessions with their beacons and conversions, and requests. Triggers
// count them, so that the hourly figures are exact.
import type { Mode } from '@pohf/protocol'
import type { Harness } from '../../packages/server/test/fixtures/harness.ts'
import type { Random } from './random.ts'
import { visitors, visitorScores, type VisitorScore } from './visitors.ts'

export type DemoSession = {
  readonly id: string
  readonly at: string
  readonly hostname: string
  readonly workflowId: string | null
  /** Null where the visitor left before the end; then there is no score. */
  readonly endedAt: string | null
} & { readonly [Field in keyof Omit<VisitorScore, 'name'>]: VisitorScore[Field] | null }

const hostnames = ['shop.example', 'shop.example', 'shop.example', 'blog.example']
const workflowIds = [null, null, null, 'checkout']
const abandonedShare = 0.07
/** Each visitor as often as their weight says. */
const scoresByWeight = visitors.flatMap(({ name, weight }) =>
  visitorScores
    .filter((score) => score.name === name)
    .flatMap((score) => Array.from({ length: weight }, () => score)),
)

/** A session of one of the visitors, as the scorer left it. */
export const makeSession = (random: Random, at: number): DemoSession => {
  const { name: _, ...score } = random.pick(scoresByWeight)
  const session = {
    id: random.id('ses_'),
    at: new Date(at).toISOString(),
    hostname: random.pick(hostnames),
    workflowId: random.pick(workflowIds),
  }
  if (random.isTrue(abandonedShare))
    return {
      ...session,
      endedAt: null,
      quality: null,
      verified: null,
      scoring: null,
      components: null,
      flags: null,
      reasons: null,
      counted: null,
    }
  return { ...session, ...score, endedAt: new Date(at + score.counted.durationMs).toISOString() }
}

type Owner = { readonly agentId: string; readonly mode: Mode }
/** The owner of the tables: a pool, or one connection inside a transaction. */
export type OwnerConnection = { readonly owner: Pick<Harness['owner'], 'query'> }
const rowsOf = `jsonb_to_recordset($3::jsonb) as row ("id" text, "at" timestamptz, "endedAt" timestamptz, quality float8,
  verified boolean, scoring text, components jsonb, flags jsonb, reasons jsonb, hostname text, "workflowId" text, counted jsonb)`
const thumbprintOf = (column: string) =>
  `left(translate(encode(sha256(${column}::bytea), 'base64'), '+/=', '-_'), 43)`
const textsOf = (column: string) =>
  `array(select jsonb_array_elements_text(case when ${column} <> 'null' then ${column} else '[]' end))`

export const insertSessions = async (
  { owner }: OwnerConnection,
  { agentId, mode }: Owner,
  sessions: readonly DemoSession[],
): Promise<void> => {
  const values = [agentId, mode, JSON.stringify(sessions)]
  await owner.query(
    `insert into session_claims (agent_id, mode, session_id, at) select $1, $2, id, at from ${rowsOf}`,
    values,
  )
  await owner.query(
    `insert into sessions (agent_id, session_id, at, mode, kind, status, simulated, ended_at, quality, verified,
       assurance, scoring, components, flags, reasons, evidence, salt, hostname, workflow_id, counted, jkt)
     select $1, id, at, $2, 'view', case when quality is null then 'expired' else 'scored' end, $2 = 'test', "endedAt",
       quality, verified, case when quality is not null then 'low' end, scoring, nullif(components, 'null'),
       ${textsOf('flags')}, ${textsOf('reasons')},
       jsonb_build_array(jsonb_build_object('type', 'answer', 'alg', 'sha-256', 'hash', ${thumbprintOf('id')})),
       sha256(('salt ' || id)::bytea), hostname, "workflowId", nullif(counted, 'null'), ${thumbprintOf('id')}
     from ${rowsOf}`,
    values,
  )
}

/** What visitors did after a verified view: most land, some look longer, a few buy. */
const makeVisit = (random: Random, { id, at, hostname, workflowId }: DemoSession) => {
  const isEngaged = random.isTrue(0.58)
  const isConverted = isEngaged && random.isTrue(0.16)
  return {
    id,
    at,
    hostname,
    workflowId,
    path: random.pick(['/', '/', '/', '/shoes', '/shoes', '/boots', '/sale', '/about/returns']),
    isEngaged,
    eventId: isConverted ? random.id('evt_') : null,
    value: isConverted ? random.integer(1_200, 18_900) / 100 : null,
    currency: random.pick(['EUR', 'EUR', 'EUR', 'CHF']),
  }
}
const visitRows = `jsonb_to_recordset($3::jsonb) as row (id text, at timestamptz, hostname text, "workflowId" text, path text,
  "isEngaged" boolean, "eventId" text, value float8, currency text)`
const segmentOfRow = 'attention_segment($1, $2, at, hostname, "workflowId")'
const pageOfRow = 'attention_page($1, $2, at, path)'

/** Writes visits of three quarters of the verified views. */
export const insertVisits = async (
  { owner }: OwnerConnection,
  { agentId, mode }: Owner,
  sessions: readonly DemoSession[],
  random: Random,
): Promise<void> => {
  const visits = sessions
    .filter(({ verified }) => verified === true && random.isTrue(0.74))
    .map((session) => makeVisit(random, session))
  const values = [agentId, mode, JSON.stringify(visits)]
  await owner.query(
    `insert into track_views (agent_id, mode, session_id, viewed_at, beacons, engaged, converted, segment, page)
     select $1, $2, id, at, case when "isEngaged" then 2 else 1 end, "isEngaged", "eventId" is not null, ${segmentOfRow},
       ${pageOfRow}
     from ${visitRows} where at > pohf_now() - interval '35 days'`,
    values,
  )
  await owner.query(
    `insert into track_events (agent_id, mode, session_id, seq, at, viewed_at, type, path, first_engagement, segment, page)
     select $1, $2, id, seq, at + make_interval(secs => 4 * seq), at, case seq when 1 then 'landed' else 'engaged' end, path,
       seq = 2, ${segmentOfRow}, ${pageOfRow}
     from ${visitRows}, generate_series(1, 2) seq where seq = 1 or "isEngaged"`,
    values,
  )
  await owner.query(
    `insert into conversions (agent_id, event_id, at, mode, session_id, viewed_at, name, value, currency, first_of_view, segment)
     select $1, "eventId", at + interval '40 seconds', $2, id, at, 'purchase', value, currency, true, ${segmentOfRow}
     from ${visitRows} where "eventId" is not null`,
    values,
  )
}

export type DemoRequest = {
  readonly at: string
  readonly id: string
  readonly keyId: string
  readonly method: string
  readonly endpoint: string
  readonly status: number
  readonly code: string | null
  readonly ms: number
}
const calls = [
  ['POST', 'credentials.verify', 24],
  ['POST', 'credentials.verify', 31],
  ['POST', 'credentials.verify', 27],
  ['POST', 'tracking.conversion', 9],
  ['GET', 'tracking.metrics', 18],
  ['GET', 'credits.balance', 5],
  ['GET', 'sessions.read', 7],
  ['GET', 'work.orders-list', 12],
] as const
const failures = [
  [404, 'not_found'],
  [409, 'session_rejected'],
  [409, 'session_rejected'],
  [422, 'validation_failed'],
  [429, 'rate_limited'],
] as const

export const makeRequest = (random: Random, at: number, keyId: string): DemoRequest => {
  const [method, endpoint, ms] = random.pick(calls)
  const [status, code] = random.isTrue(0.035) ? random.pick(failures) : ([200, null] as const)
  const slow = random.isTrue(0.02) ? random.between(6, 15) : random.between(0.6, 1.6)
  return {
    at: new Date(at).toISOString(),
    id: random.id('req_'),
    keyId,
    method,
    endpoint,
    status,
    code,
    ms: Math.round(ms * slow),
  }
}

export const insertRequests = async (
  { owner }: Pick<Harness, 'owner'>,
  agentId: string,
  requests: readonly DemoRequest[],
): Promise<void> => {
  await owner.query(
    `insert into request_log (agent_id, at, request_id, key_id, method, endpoint, status, code, duration_ms)
     select $1, at, id, "keyId", method, endpoint, status, code, ms from jsonb_to_recordset($2::jsonb) as row
       (at timestamptz, id text, "keyId" text, method text, endpoint text, status smallint, code text, ms int)`,
    [agentId, JSON.stringify(requests)],
  )
}
