-- One index entry for each beacon in place of four.

-- The event ids of a view are in its row, which each beacon locks and writes anyway, as hashes of 64 bits: enough for the 500 beacons of
-- a view. Somebody who sends two ids with the same hash loses a beacon of their own view.
alter table track_views add column event_id_hashes bigint[] not null default '{}';
update track_views view set event_id_hashes = claimed.ids
from (
  select agent_id, mode, session_id, array_agg(hashtextextended(client_event_id, 0)) as ids
  from track_event_claims group by agent_id, mode, session_id) claimed
where claimed.agent_id = view.agent_id and claimed.mode = view.mode and claimed.session_id = view.session_id;
drop table track_event_claims;

-- Reports read beacons by the time of their view. The backfill reads them by `at`, which has an index of its own.
alter table track_events drop constraint track_events_pkey;
alter table track_events add primary key (agent_id, mode, viewed_at, session_id, seq, at);
drop index track_events_agent_id_mode_viewed_at_session_id_idx;

alter type tracked_view add attribute event_id_hashes bigint[];

-- The number of a site and workflow is looked up in the statement; a call is needed for the first view of them on a day, for
-- views without either and for those beyond the limit.
create or replace function track_insert_views(sent_views json, token_days int) returns void language plpgsql volatile as $$
begin
  insert into track_views (agent_id, mode, session_id, viewed_at, segment)
  select agent_id, mode, session_id, at,
    coalesce(known_segment, attention_segment(agent_id, mode, at, hostname, workflow_id))
  from (
    select given.agent_id, given.mode, given.session_id, session.at, session.hostname, session.workflow_id,
      named.segment as known_segment
    from json_to_recordset(sent_views) given (agent_id text, mode text, session_id text, token_at float8)
    left join lateral (
      select true as found from track_views v
      where v.agent_id = given.agent_id and v.mode = given.mode and v.session_id = given.session_id
      limit 1) known on true
    cross join lateral (
      select c.at from session_claims c
      where known.found is null and c.agent_id = given.agent_id and c.mode = given.mode
        and c.session_id = given.session_id
      limit 1) claim
    cross join lateral (
      select s.at, s.hostname, s.workflow_id, s.kind, s.verified from sessions s
      where s.agent_id = given.agent_id and s.session_id = given.session_id and s.at = claim.at and s.mode = given.mode
      limit 1) session
    left join lateral (
      select n.segment from attention_segments n
      where n.agent_id = given.agent_id and n.mode = given.mode and n.day = pohf_day(session.at)
        and n.site = coalesce(session.hostname, '') and n.workflow = coalesce(session.workflow_id, '')
        and n.segment > 0
      limit 1) named on true
    where session.kind = 'view' and session.verified
      and to_timestamp(given.token_at) >= pohf_now() - make_interval(days => token_days)
    order by given.agent_id collate "C", given.mode collate "C", given.session_id collate "C") verified
  on conflict do nothing;
end $$;

create or replace function track_lock_views(sent_views json, token_days int) returns tracked_view[]
language plpgsql volatile as $$
begin
  return (select array_agg(row(given.place, given.agent_id, given.mode, given.session_id, held.viewed_at, held.segment, held.page,
    held.beacons, held.engaged, held.event_id_hashes)::tracked_view)
  from (
    select * from json_to_recordset(sent_views)
      listed (place int, agent_id text, mode text, session_id text, token_at float8)
    where to_timestamp(token_at) >= pohf_now() - make_interval(days => token_days)
    order by agent_id collate "C", mode collate "C", session_id collate "C") given
  left join lateral (
    select v.viewed_at, v.segment, v.page, v.beacons, v.engaged, v.event_id_hashes from track_views v
    where v.agent_id = given.agent_id and v.mode = given.mode and v.session_id = given.session_id
    limit 1 for update) held on true);
end $$;

create or replace function track_record_beacons(sent_views json, sent_beacons json, limits json, spooled boolean) returns text
language plpgsql volatile set plan_cache_mode = force_generic_plan as $$
declare
  token_days int := limits ->> 'tokenDays';
  per_view int := limits ->> 'perView';
  tracked tracked_view[];
  outcomes text;
  tenant_before text := current_setting('pohf.tenant', true);
begin
  -- Not as a setting of the function: only a superuser may create one with a parameter that PostgreSQL does not know.
  perform set_config('pohf.tenant', 'system', true);
  perform track_insert_views(sent_views, token_days);
  -- The locks are held from here on, and what they return is what the holder before committed, event ids among it.
  tracked := track_lock_views(sent_views, token_days);
  with beacon as materialized (
    select hashed.*, view.agent_id, view.mode, view.session_id, view.viewed_at, view.segment, view.page, view.beacons,
      view.engaged, view.place is null as expired, hashed.event_hash is not null and (
        hashed.event_hash = any(view.event_id_hashes)
        or row_number() over (partition by hashed.place, hashed.event_hash order by hashed.n) > 1) as duplicate
    from (
      select given.*, hashtextextended(given.event_id, 0) as event_hash
      from json_to_recordset(sent_beacons) given (n int, place int, event_id text, engages boolean, path text, type text,
        client_at timestamptz, props jsonb, fields text)) hashed
    left join unnest(tracked) view on view.place = hashed.place
  ), accepted as materialized (
    select * from (
      select *, (beacons + row_number() over (partition by place order by n))::int as seq,
        engages and not engaged and row_number() over (partition by place, engages order by n) = 1 as first_engagement
      from beacon where viewed_at is not null and not duplicate) numbered
    where seq <= per_view
  ), landing as materialized (
    select place, coalesce(known_page, attention_page(agent_id, mode, viewed_at, path)) as page from (
      select a.place, a.agent_id, a.mode, a.viewed_at, a.path, known.page as known_page
      from accepted a left join lateral (
        select p.page from attention_pages p where p.agent_id = a.agent_id and p.mode = a.mode
          and p.day = pohf_day(a.viewed_at) and p.path = a.path
        limit 1) known on true
      where a.seq = 1
      order by a.agent_id collate "C", a.mode collate "C", a.viewed_at, a.path collate "C") first
  ), counted as materialized (
    select a.place, a.agent_id, a.mode, a.session_id, a.viewed_at, a.segment, max(a.seq) as beacons,
      bool_or(a.engages) as engages, coalesce(l.page, a.page) as page,
      coalesce(array_agg(a.event_hash) filter (where a.event_hash is not null), '{}') as event_id_hashes
    from accepted a left join landing l on l.place = a.place
    group by a.place, a.agent_id, a.mode, a.session_id, a.viewed_at, a.segment, l.page, a.page
  ), updated as (
    -- Each of them has a row, which is locked. As an insert it finds the row by its key, whatever statistics say.
    insert into track_views as v (agent_id, mode, session_id, viewed_at, segment, page, beacons, engaged, event_id_hashes)
    select agent_id, mode, session_id, viewed_at, segment, page, beacons, engages, event_id_hashes from counted
    on conflict (agent_id, mode, session_id) do update set beacons = excluded.beacons,
      engaged = v.engaged or excluded.engaged, page = excluded.page, event_id_hashes = v.event_id_hashes || excluded.event_id_hashes
  ), stored as (
    insert into track_events (agent_id, mode, session_id, viewed_at, segment, page, seq, first_engagement, type,
      client_event_id, client_at, path, props)
    select a.agent_id, a.mode, a.session_id, a.viewed_at, a.segment, c.page, a.seq, a.first_engagement, a.type, a.event_id,
      a.client_at, a.path, a.props
    from accepted a join counted c on c.place = a.place where not spooled
  ), queued as (
    insert into attention_spool (agent_id, mode, session_id, viewed_at, segment, page, kind, with_view, rows, lines)
    select a.agent_id, a.mode, a.session_id, a.viewed_at, a.segment, c.page, 'beacons', bool_or(a.seq = 1), count(*),
      string_agg(format('{"seq":%s,"first_engagement":%s,%s', a.seq, a.first_engagement::int, substr(a.fields, 2)),
        e'\n' order by a.seq)
    from accepted a join counted c on c.place = a.place where spooled
    group by a.place, a.agent_id, a.mode, a.session_id, a.viewed_at, a.segment, c.page
  )
  select string_agg(case when b.expired then 'e' when b.viewed_at is null then 'u' when b.duplicate then 'd'
    when a.n is null then 'f' else 's' end, '' order by b.n)
  into outcomes from beacon b left join accepted a on a.n = b.n;
  perform set_config('pohf.tenant', coalesce(tenant_before, ''), true);
  return outcomes;
end $$;
