-- Beacons of many requests in one statement, which is its own transaction: one round trip for a batch.

-- Every beacon updates the row of its view: with room in the page, no index is written for that.
alter table track_views set (fillfactor = 70);

-- A view as it is under its lock. `place` is its place in the batch; without `viewed_at` the view is not verified.
create type tracked_view as (
  place int, agent_id text, mode text, session_id text, viewed_at timestamptz, segment smallint, page smallint,
  beacons int, engaged boolean
);

-- Inserts rows for the first beacons of verified views, in the order of the key, unless a concurrent batch did. This comes
-- before any lock: whoever waits here for an insert of another batch holds only inserts of keys before it.
create function track_insert_views(sent_views json, token_days int) returns void language plpgsql volatile as $$
begin
  insert into track_views (agent_id, mode, session_id, viewed_at, segment)
  select agent_id, mode, session_id, at, attention_segment(agent_id, mode, at, hostname, workflow_id)
  from (
    select given.agent_id, given.mode, given.session_id, session.at, session.hostname, session.workflow_id
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
    where session.kind = 'view' and session.verified
      and to_timestamp(given.token_at) >= pohf_now() - make_interval(days => token_days)
    order by given.agent_id collate "C", given.mode collate "C", given.session_id collate "C") verified
  on conflict do nothing;
end $$;

-- Locks the rows of views whose tokens are valid. In the order of the key: two batches never wait for each other in a
-- circle. A view without a row is returned without `viewed_at`. In plpgsql, which plans each statement once for a connection.
create function track_lock_views(sent_views json, token_days int) returns tracked_view[] language plpgsql volatile as $$
begin
  return (select array_agg(row(given.place, given.agent_id, given.mode, given.session_id, held.viewed_at, held.segment, held.page,
    held.beacons, held.engaged)::tracked_view)
  from (
    select * from json_to_recordset(sent_views)
      listed (place int, agent_id text, mode text, session_id text, token_at float8)
    where to_timestamp(token_at) >= pohf_now() - make_interval(days => token_days)
    order by agent_id collate "C", mode collate "C", session_id collate "C") given
  left join lateral (
    select v.viewed_at, v.segment, v.page, v.beacons, v.engaged from track_views v
    where v.agent_id = given.agent_id and v.mode = given.mode and v.session_id = given.session_id
    limit 1 for update) held on true);
end $$;

-- Records beacons of views of any agents and returns one letter for each, in their order: (s)tored, (d)uplicate, view is
-- (f)ull, token (e)xpired, (u)nknown or unverified view. Each row is found by agent, mode and session of a token. The rows are
-- stored in track_events, or in the spool for ClickHouse, which then has `fields` of each as JSON.
-- It has the rights of its caller alone. It acts as the system, since a batch has views of several agents.
create function track_record_beacons(sent_views json, sent_beacons json, limits json, spooled boolean) returns text
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
  tracked := track_lock_views(sent_views, token_days);
  -- The statements above hold the locks, so that this one, which begins later, sees every event id of these views.
  with beacon as materialized (
    select given.*, view.agent_id, view.mode, view.session_id, view.viewed_at, view.segment, view.page, view.beacons,
      view.engaged, view.place is null as expired, claim.found is not null or given.event_id is not null
        and row_number() over (partition by given.place, given.event_id order by given.n) > 1 as duplicate
    from json_to_recordset(sent_beacons) given (n int, place int, event_id text, engages boolean, path text, type text,
      client_at timestamptz, props jsonb, fields text)
    left join unnest(tracked) view on view.place = given.place
    left join lateral (
      select true as found from track_event_claims c
      where c.agent_id = view.agent_id and c.mode = view.mode and c.session_id = view.session_id
        and c.client_event_id = given.event_id
      limit 1) claim on true
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
      bool_or(a.engages) as engages, coalesce(l.page, a.page) as page
    from accepted a left join landing l on l.place = a.place
    group by a.place, a.agent_id, a.mode, a.session_id, a.viewed_at, a.segment, l.page, a.page
  ), claimed as (
    insert into track_event_claims (agent_id, mode, session_id, client_event_id, viewed_at)
    select agent_id, mode, session_id, event_id, viewed_at from accepted where event_id is not null
  ), updated as (
    -- Each of them has a row, which is locked. As an insert it finds the row by its key, whatever statistics say.
    insert into track_views as v (agent_id, mode, session_id, viewed_at, segment, page, beacons, engaged)
    select agent_id, mode, session_id, viewed_at, segment, page, beacons, engages from counted
    on conflict (agent_id, mode, session_id) do update
      set beacons = excluded.beacons, engaged = v.engaged or excluded.engaged, page = excluded.page
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
revoke execute on function track_lock_views(json, int), track_insert_views(json, int),
  track_record_beacons(json, json, json, boolean) from public;
grant execute on function track_lock_views(json, int), track_insert_views(json, int),
  track_record_beacons(json, json, json, boolean) to pohf_app;
