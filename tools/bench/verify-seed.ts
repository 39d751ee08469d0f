import type { Client } from 'pg'

/** How the sessions of a run are spread over networks; `reserved`: as `many`, with the places that scoring holds. */
export type NetworkLoad = 'none' | 'many' | 'reserved' | 'one'

/** Sessions that were scored and wait to be verified, and what their agents can pay with. */
export const seedSql = {
  balances: `insert into ledger_accounts (agent_id, mode, account, unit, balance) values
    ($1, 'live', 'credits', 'credit', 1000000000), ($1, 'live', 'world:purchases', 'credit', -1000000000),
    ($1, 'live', 'free:' || to_char(now() at time zone 'UTC', 'YYYY-MM'), 'credit', 0) on conflict do nothing`,
  claims: `insert into session_claims (agent_id, mode, session_id, at)
    select ($1::text[])[1 + k % cardinality($1)], 'live', $2 || k, date_trunc('second', now()) from generate_series(0, $3::int - 1) k`,
  sessions: `insert into sessions (agent_id, session_id, at, mode, kind, status, ended_at, quality, verified, assurance,
      scoring, components, telemetry, evidence, salt)
    select c.agent_id, c.session_id, c.at, c.mode, 'view', 'scored', c.at, 0.91, true, 'low', 'attention-1',
      '{"focus":0.97,"probe":0.8,"input":0.7,"gaze":null,"device":0.3,"history":0.5}'::jsonb,
      jsonb_build_object('alg', 'sha-256', 'link', repeat('l', 43), 'root', repeat('r', 43), 'n', 9),
      jsonb_build_array(jsonb_build_object('type', 'telemetry', 'alg', 'sha-256', 'hash', repeat('h', 43))), '\\x00'
    from session_claims c where c.session_id like $1 || '%'`,
  networks: `insert into root_sessions (session_id, day, key_day, narrow_tags, wide_tags, factors, sealed)
    select c.session_id, roots_day(c.at), roots_day(c.at), array['narrow-' || n.tag], array['wide-' || n.tag], '{1}', 'x'
    from session_claims c cross join lateral (select abs(hashtext(c.session_id)) % $2::int as tag) n
    where c.session_id like $1 || '%'`,
  reservations: `insert into root_reservations (session_id, spender, expires_at, days, tags, spenders, hours, day_amounts)
    select c.session_id, c.agent_id, c.at + interval '1 hour', array_fill(s.day, array[4]),
      array[s.narrow_tags[1], s.narrow_tags[1], s.wide_tags[1], s.wide_tags[1]],
      array['', c.agent_id, '', c.agent_id], array_fill(roots_hour(c.at), array[4]), '{1,1,1,1}'
    from session_claims c join root_sessions s on s.session_id = c.session_id and s.day = roots_day(c.at)
    where c.session_id like $1 || '%'`,
}

const networkCounts: Readonly<Record<Exclude<NetworkLoad, 'none'>, number>> = {
  many: 10_000,
  reserved: 10_000,
  one: 1,
}

/** Settings of an api with budgets that no run uses up: a refusal would be measured as a mint. */
export const unlimitedBudgets = {
  ROOT_BUDGETS: 'on',
  ROOT_ADDRESS_PER_HOUR: '1000000',
  ROOT_ADDRESS_PER_DAY: '1000000',
  ROOT_NETWORK_PER_HOUR: '1000000',
  ROOT_NETWORK_PER_DAY: '1000000',
}

/** A batch of the signer that pgbench claims to have, and which the database must have. */
const pgbenchSigner = 'sgn_00000000000000be'
export const pgbenchBatchSql = `insert into mint_batches (signer, batch) values ('${pgbenchSigner}', 1) on conflict do nothing`

/** pgbench takes a colon and a word for a variable: there is a blank after each. */
const pgbenchCounter = (kind: string): string =>
  `{"tag": "${kind}-%1$s", "hour": 1000000, "day": 1000000, "agentHour": 1000000, "agentDay": 1000000}`

/**
 * The function that the server calls, once for each transaction, with values as long as the server's. Each call is a batch of
 * its own, spends the reservation of its session and compares an acknowledged batch, as a batch of the server does.
 */
export const pgbenchScript = (agentCount: number, stride: number): string => `\\set i :i + 1
\\set k :client_id + ${stride} * :i
\\set a :k % ${agentCount}
\\set batch :first_batch + :k
select outcome from (select :prefix || :k as id, abs(hashtext(:prefix || :k)) % ${networkCounts.reserved} as network) one
cross join lateral credentials_mint(array['agt_pgbench' || :a], array['live'], array['session'], array[one.id], array[null]::text[],
  array[true], array['crd_aa' || one.id], array['view'], array[date_trunc('second', now())],
  array[now() + interval '30 days'], array[:jwt], array[:answer]::jsonb[], array[null]::bytea[], array['aa-live-1'], array[1],
  array[one.id], array['ent_aa' || one.id], array['evt_aa' || one.id], array[:event]::jsonb[], array['evt_ab' || one.id],
  array[format('{"session": "%2$s", "counters": [${pgbenchCounter('narrow')},${pgbenchCounter('wide')}],
    "networks": [["wide-%1$s", "narrow-%1$s"]]}', one.network, one.id)]::jsonb[], '1.0.0', array[md5(one.id)], '${pgbenchSigner}', :batch, 1);
`

/** Of all seeders of the process, so that two of one database never make the same ids. */
let batches = 0

/** Makes scored sessions for agents; gives the prefix of their ids. */
export const makeSeeder =
  (client: Client, statistics: 'absent' | 'present') =>
  async (owners: readonly string[], count: number, networks: NetworkLoad = 'none'): Promise<string> => {
    const prefix = `b${batches++}x`
    await client.query(seedSql.claims, [[...owners], prefix, count])
    await client.query(seedSql.sessions, [prefix])
    if (networks !== 'none') await client.query(seedSql.networks, [prefix, networkCounts[networks]])
    if (networks === 'reserved') await client.query(seedSql.reservations, [prefix])
    // The first reader of a new row writes to its page. Without this, verify would be that reader unless the table is analysed.
    await client.query(`select count(*) from session_claims where mode = 'live'`)
    await client.query(`select count(*) from sessions where mode = 'live'`)
    // All tables: with the statistics of some of them, the plans and the figures change from round to round.
    if (statistics === 'present') await client.query('analyze')
    await client.query('checkpoint')
    return prefix
  }
