import type { Pool } from 'pg'
import type { ClickHouse } from '../../../packages/server/src/platform/db/clickhouse.ts'

/** Views of one agent over 30 days, three beacons each: the same rows for both engines. */
export const days = 30
const chunkRows = 500_000
const typeOf = "['load', 'scroll', 'click']"

/** The rows from `from` up to `to`, counted from 0; row n is beacon n % 3 of view n / 3. */
const clickhouseRows = (agentId: string, from: number, to: number, rows: number) => `
  SELECT '${agentId}' AS agent_id, 'live' AS mode,
    fromUnixTimestamp64Milli(toInt64(toUnixTimestamp(now()) * 1000 - ${days} * 86400000
      + intDiv(number, 3) * (${days} * 86400000 / ${Math.ceil(rows / 3)})), 'UTC') AS viewed_at,
    concat('ses_', lower(hex(sipHash128(intDiv(number, 3))))) AS session_id,
    'shop.example' AS site, '' AS workflow, 1 AS segment, concat('/page/', toString(intDiv(number, 3) % 40)) AS landing,
    1 AS page, toUInt16(number % 3 + 1) AS seq, viewed_at + toIntervalSecond(number % 3 + 1) AS at,
    ${typeOf}[number % 3 + 1] AS type, lower(hex(sipHash128(number, 7))) AS client_event_id, at AS client_at,
    concat('/page/', toString(number % 97)) AS path,
    concat('{"depth":', toString((number % 100) / 100), ',"dwell":', toString(number * 7919 % 60000), '}') AS props,
    toUInt8(number % 3 = 1) AS first_engagement, 0 AS batch
  FROM numbers(${from}, ${to - from})`

const columns =
  'agent_id, mode, viewed_at, session_id, site, workflow, segment, landing, page, seq, at, type, client_event_id, client_at, path, props, first_engagement, batch'

export const fillClickHouse = async (db: ClickHouse, agentId: string, rows: number): Promise<void> => {
  for (let from = 0; from < rows; from += chunkRows)
    await db.run(
      `INSERT INTO ${db.database}.beacons (${columns}) SELECT ${columns} FROM (${clickhouseRows(agentId, from, Math.min(from + chunkRows, rows), rows)})`,
    )
}

export const fillPostgres = async (owner: Pool, agentId: string, rows: number): Promise<void> => {
  await owner.query(
    "call pohf_make_partitions('track_events', now() - make_interval(days => $1 + 2), 4)".replace(
      '$1',
      String(days),
    ),
  )
  for (let from = 0; from < rows; from += chunkRows)
    await owner.query(
      `insert into track_events (agent_id, mode, session_id, viewed_at, segment, page, seq, at, type, client_event_id,
         client_at, path, props, first_engagement)
       select $1, 'live', 'ses_' || md5((n / 3)::text), viewed, 1, 1, n % 3 + 1, viewed + make_interval(secs => n % 3 + 1),
         (array['load', 'scroll', 'click'])[n % 3 + 1], md5(n::text || 'e'), viewed + make_interval(secs => n % 3 + 1),
         '/page/' || n % 97, jsonb_build_object('depth', (n % 100) / 100.0, 'dwell', n::bigint * 7919 % 60000), n % 3 = 1
       from (select n, now() - make_interval(days => ${days}) + (n / 3) * (interval '${days} days' / $4::int) as viewed
         from generate_series($2::int, $3::int - 1) n) numbered`,
      [agentId, from, Math.min(from + chunkRows, rows), Math.ceil(rows / 3)],
    )
  await owner.query('vacuum analyze track_events')
}

/** Questions that no figure by the hour answers. */
export const clickhouseQuestions = (db: ClickHouse) => ({
  'distinct views of all rows': `SELECT uniqExact(session_id) AS n FROM ${db.database}.beacons FINAL WHERE agent_id = {agent:String} AND mode = 'live' AND viewed_at >= now() - INTERVAL ${days + 1} DAY`,
  'free slice': `SELECT toString(type) AS t, count() AS n, uniqExact(session_id) AS views, avg(JSONExtractUInt(props, 'dwell')) AS dwell FROM ${db.database}.beacons FINAL WHERE agent_id = {agent:String} AND mode = 'live' AND viewed_at >= now() - INTERVAL ${days + 1} DAY AND path = '/page/7' AND JSONExtractFloat(props, 'depth') > 0.5 GROUP BY t`,
})

export const postgresQuestions = {
  'distinct views of all rows': `select count(distinct session_id) as n from track_events where agent_id = $1 and mode = 'live' and viewed_at >= now() - interval '${days + 1} days' and at >= now() - interval '${days + 1} days'`,
  'free slice': `select type as t, count(*) as n, count(distinct session_id) as views, avg((props ->> 'dwell')::float8) as dwell from track_events where agent_id = $1 and mode = 'live' and viewed_at >= now() - interval '${days + 1} days' and at >= now() - interval '${days + 1} days' and path = '/page/7' and (props ->> 'depth')::float8 > 0.5 group by type`,
}
