-- The tables, types and functions of `tracking` after all migrations, to be read and not run. Written by npm run generate from
-- the catalogue of a database; do not edit. Left out are names that PostgreSQL chose, the types of constants, and the role that
-- migrates. A table has row-level security where a line below it says so. Every role may execute a function, unless a line
-- above it says which may.

create sequence attention_spool_seq;

create table attention_batches (
  number bigint not null check (number > 0),
  spool_nos bigint[] not null,
  beacons integer not null,
  conversions integer not null,
  sealed_at timestamptz not null default pohf_now(),
  delivered_at timestamptz,
  primary key (number)
);
create index attention_batches_old on attention_batches (delivered_at);
create unique index attention_batches_open on attention_batches ((true)) where delivered_at is null;
-- pohf_app may select, insert, update, delete

create table attention_delivery (
  name text not null check (name = 'clickhouse'),
  sealed bigint not null default 0,
  attempt bigint not null default 0,
  lease_until timestamptz not null default '-infinity',
  beacons_copied timestamptz not null default '-infinity',
  conversions_copied timestamptz not null default '-infinity',
  returned bigint not null default 0,
  primary key (name)
);
-- pohf_app may select, update

create table attention_erasures (
  agent_id text not null,
  erasure_id uuid not null default gen_random_uuid(),
  session_id text,
  after_batch bigint not null,
  requested_at timestamptz not null default pohf_now(),
  done_at timestamptz,
  primary key (agent_id, erasure_id)
);
create index attention_erasures_open on attention_erasures (requested_at) where done_at is null;
-- row-level security by agent_id
-- pohf_app may select, insert, update, delete

create table attention_pages (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  day date not null,
  page smallint not null check (page between 1 and 100),
  path text not null,
  primary key (agent_id, mode, day, page),
  unique (agent_id, mode, day, path)
);
create index attention_pages_old on attention_pages (day);
-- row-level security by agent_id
-- pohf_app may select, delete

create table attention_spool (
  agent_id text not null,
  spool_no bigint not null default nextval('attention_spool_seq'),
  mode text not null check (mode in ('live', 'test')),
  session_id text not null,
  viewed_at timestamptz not null,
  segment smallint not null,
  page smallint not null,
  kind text not null check (kind in ('beacons', 'conversions')),
  with_view boolean not null,
  rows integer not null check (rows > 0),
  recorded_at timestamptz not null default pohf_now(),
  lines text not null,
  primary key (agent_id, spool_no)
);
create index attention_spool_order on attention_spool (spool_no);
-- row-level security by agent_id
-- pohf_app may select, insert, delete

create table beacon_hours (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  hour timestamptz not null,
  slot smallint not null check (slot between 0 and 3),
  landed integer not null,
  engaged integer not null,
  segment smallint not null default 0,
  primary key (agent_id, mode, hour, segment, slot)
) with (fillfactor=50);
create index beacon_hours_old on beacon_hours (hour);
create index beacon_hours_to_merge on beacon_hours (hour) where slot <> 0;
-- row-level security by agent_id
-- pohf_app may select, delete

create table conversion_claims (
  agent_id text not null,
  mode text not null,
  session_id text not null,
  name text not null,
  idempotency_key text not null,
  viewed_at timestamptz not null,
  primary key (agent_id, mode, session_id, name, idempotency_key)
);
create index conversion_claims_viewed_at_idx on conversion_claims (viewed_at);
-- row-level security by agent_id
-- pohf_app may select, insert, update, delete

create table conversion_hours (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  hour timestamptz not null,
  currency text not null check (currency ~ '^[A-Z]{3}$'),
  slot smallint not null check (slot between 0 and 3),
  conversions integer not null,
  converted integer not null,
  valued integer not null,
  total numeric not null,
  segment smallint not null default 0,
  primary key (agent_id, mode, hour, segment, currency, slot)
) with (fillfactor=50);
create index conversion_hours_to_merge on conversion_hours (hour) where slot <> 0;
-- row-level security by agent_id
-- pohf_app may select

create table conversions (
  agent_id text not null,
  event_id text not null,
  at timestamptz not null default pohf_now(),
  mode text not null check (mode in ('live', 'test')),
  session_id text not null,
  viewed_at timestamptz not null,
  name text not null,
  value double precision,
  currency text check (currency ~ '^[A-Z]{3}$'),
  first_of_view boolean not null default false,
  segment smallint not null default 0,
  primary key (agent_id, event_id, at)
) partition by range (at);
create index conversions_agent_id_mode_viewed_at_idx on conversions (agent_id, mode, viewed_at);
create index conversions_stored on conversions using brin (at);
create trigger count_stored after insert on conversions referencing new table as changed for each statement execute function
  track_count_conversions();
-- partitions by month, never dropped
-- row-level security by agent_id
-- pohf_app may select, insert

create table landing_days (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  day date not null,
  segment smallint not null,
  page smallint not null,
  slot smallint not null check (slot between 0 and 3),
  landed integer not null,
  engaged integer not null,
  primary key (agent_id, mode, day, segment, page, slot)
) with (fillfactor=50);
create index landing_days_old on landing_days (day);
create index landing_days_to_merge on landing_days (day) where slot <> 0;
-- row-level security by agent_id
-- pohf_app may select, delete

create table landing_hours (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  hour timestamptz not null,
  segment smallint not null,
  page smallint not null,
  slot smallint not null check (slot between 0 and 3),
  landed integer not null,
  engaged integer not null,
  primary key (agent_id, mode, hour, segment, page, slot)
) with (fillfactor=50);
create index landing_hours_old on landing_hours (hour);
create index landing_hours_to_merge on landing_hours (hour) where slot <> 0;
-- row-level security by agent_id
-- pohf_app may select, delete

create table track_events (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  session_id text not null,
  seq integer not null check (seq between 1 and 500),
  at timestamptz not null default pohf_now(),
  viewed_at timestamptz not null,
  type text not null,
  client_event_id text,
  client_at timestamptz,
  path text,
  props jsonb,
  first_engagement boolean not null default false,
  segment smallint not null default 0,
  page smallint not null default 0,
  primary key (agent_id, mode, viewed_at, session_id, seq, at)
) partition by range (at);
create index track_events_stored on track_events using brin (at);
create trigger count_stored after insert on track_events referencing new table as changed for each statement execute function
  track_count_beacons();
-- partitions by month, dropped after 13 months
-- row-level security by agent_id
-- pohf_app may select, insert

create table track_views (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  session_id text not null,
  viewed_at timestamptz not null,
  beacons integer not null default 0 check (beacons between 0 and 500),
  engaged boolean not null default false,
  converted boolean not null default false,
  segment smallint not null default 0,
  page smallint not null default 0,
  event_id_hashes bigint[] not null default '{}',
  primary key (agent_id, mode, session_id)
) with (fillfactor=70);
create index track_views_viewed_at_idx on track_views (viewed_at);
-- row-level security by agent_id
-- pohf_app may select, insert, update, delete

create type tracked_view as (place integer, agent_id text, mode text, session_id text, viewed_at timestamptz, segment smallint,
  page smallint, beacons integer, engaged boolean, event_id_hashes bigint[]);

-- pohf_app may execute it
create function attention_page(of_agent text, of_mode text, viewed timestamptz, of_path text) returns smallint language plpgsql
  security definer set search_path to 'public', 'pg_temp' as $$
declare
  on_day date := pohf_day(viewed);
  found_page smallint;
begin
  if of_path is null then return 0; end if;
  loop
    select known.page into found_page from attention_pages known
    where known.agent_id = of_agent and known.mode = of_mode and known.day = on_day and known.path = of_path;
    if found then return found_page; end if;
    select coalesce(max(known.page), 0) + 1 into found_page from attention_pages known
    where known.agent_id = of_agent and known.mode = of_mode and known.day = on_day;
    if found_page > 100 then return -1; end if;
    insert into attention_pages (agent_id, mode, day, page, path)
    values (of_agent, of_mode, on_day, found_page, of_path) on conflict do nothing;
    if found then return found_page; end if;
  end loop;
end $$;

-- pohf_app may execute it
create function attention_spool_state(out oldest_at timestamptz, out entries bigint) returns record language plpgsql
  security definer set search_path to 'public', 'pg_temp' as $$
declare
  tenant text := pohf_tenant();
begin
  perform set_config('pohf.tenant', 'system', true);
  select min(first.recorded_at) into oldest_at
  from (select recorded_at from attention_spool order by spool_no limit 1000) first;
  select sequence.last_value - first.spool_no + 1 into entries
  from attention_spool_seq sequence, (select spool_no from attention_spool order by spool_no limit 1) first;
  entries := coalesce(entries, 0);
  perform set_config('pohf.tenant', tenant, true);
end $$;

create function track_count_beacons() returns trigger language plpgsql security definer
  set search_path to 'public', 'pg_temp' as $$
begin
  insert into beacon_hours as known (agent_id, mode, hour, segment, slot, landed, engaged)
  select agent_id, mode, date_trunc('hour', viewed_at, 'UTC') as hour, segment, pohf_hour_slot(),
    count(*) filter (where seq = 1), count(*) filter (where first_engagement)
  from changed where seq = 1 or first_engagement
  group by agent_id, mode, hour, segment order by agent_id, mode, hour, segment
  on conflict (agent_id, mode, hour, segment, slot) do update set landed = known.landed + excluded.landed,
    engaged = known.engaged + excluded.engaged;
  insert into landing_hours as known (agent_id, mode, hour, segment, page, slot, landed, engaged)
  select agent_id, mode, date_trunc('hour', viewed_at, 'UTC') as hour, segment, page, pohf_hour_slot(),
    count(*) filter (where seq = 1), count(*) filter (where first_engagement)
  from changed where seq = 1 or first_engagement
  group by agent_id, mode, hour, segment, page order by agent_id, mode, hour, segment, page
  on conflict (agent_id, mode, hour, segment, page, slot) do update set landed = known.landed + excluded.landed,
    engaged = known.engaged + excluded.engaged;
  insert into landing_days as known (agent_id, mode, day, segment, page, slot, landed, engaged)
  select agent_id, mode, pohf_day(viewed_at) as day, segment, page, pohf_hour_slot(),
    count(*) filter (where seq = 1), count(*) filter (where first_engagement)
  from changed where seq = 1 or first_engagement
  group by agent_id, mode, day, segment, page order by agent_id, mode, day, segment, page
  on conflict (agent_id, mode, day, segment, page, slot) do update set landed = known.landed + excluded.landed,
    engaged = known.engaged + excluded.engaged;
  return null;
end $$;

create function track_count_conversions() returns trigger language plpgsql security definer
  set search_path to 'public', 'pg_temp' as $$
begin
  insert into conversion_hours as known
    (agent_id, mode, hour, segment, currency, slot, conversions, converted, valued, total)
  select agent_id, mode, date_trunc('hour', viewed_at, 'UTC') as hour, segment, coalesce(currency, 'XXX') as code,
    pohf_hour_slot(), count(*), count(*) filter (where first_of_view), count(value),
    coalesce(sum(value::numeric), 0)
  from changed group by agent_id, mode, hour, segment, code order by agent_id, mode, hour, segment, code
  on conflict (agent_id, mode, hour, segment, currency, slot) do update set
    conversions = known.conversions + excluded.conversions, converted = known.converted + excluded.converted,
    valued = known.valued + excluded.valued, total = known.total + excluded.total;
  return null;
end $$;

-- pohf_app may execute it
create function track_insert_views(sent_views json, token_days integer) returns void language plpgsql as $$
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

-- pohf_app may execute it
create function track_lock_views(sent_views json, token_days integer) returns tracked_view[] language plpgsql as $$
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

-- pohf_app may execute it
create function track_record_beacons(sent_views json, sent_beacons json, limits json, spooled boolean) returns text
  language plpgsql set plan_cache_mode to 'force_generic_plan' as $$
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
