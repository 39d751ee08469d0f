-- Figures for the attention report: by site and workflow, by quality, probes, checks and landing pages.

-- A pair of site and workflow is a segment of a day. A day of an agent has at most 32, because everybody can open a session
-- on a site that lists no origins: what comes after them is counted together, as segment -1, which this table then
-- names, too. Views without site and workflow are segment 0, without a row here.
create table attention_segments (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  -- Of the view, in UTC.
  day date not null,
  segment smallint not null check (segment between -1 and 32 and segment <> 0),
  -- Empty where the views have none.
  site text not null,
  workflow text not null,
  primary key (agent_id, mode, day, segment),
  unique (agent_id, mode, day, site, workflow)
);
call pohf_isolate('attention_segments');

-- The same for the paths on which views begin: 100 of a day. Page -1 is every other path, page 0 none.
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
call pohf_isolate('attention_pages');
revoke insert, update, delete, truncate on attention_segments from pohf_app;
revoke insert, update, truncate on attention_pages from pohf_app;

create function pohf_day(at timestamptz) returns date language sql immutable parallel safe
  return (at at time zone 'UTC')::date;

-- The number of a segment; it is given at the first view of the day and stays. Two transactions that give the same number
-- wait for each other, and the second looks again.
create function attention_segment(of_agent text, of_mode text, viewed timestamptz, of_site text, of_workflow text)
returns smallint language plpgsql security definer set search_path = public, pg_temp as $$
declare
  on_day date := pohf_day(viewed);
  found_segment smallint;
begin
  if of_site is null and of_workflow is null then return 0; end if;
  loop
    select known.segment into found_segment from attention_segments known
    where known.agent_id = of_agent and known.mode = of_mode and known.day = on_day
      and known.site = coalesce(of_site, '') and known.workflow = coalesce(of_workflow, '');
    if found then return found_segment; end if;
    select coalesce(max(known.segment), 0) + 1 into found_segment from attention_segments known
    where known.agent_id = of_agent and known.mode = of_mode and known.day = on_day and known.segment > 0;
    if found_segment > 32 then
      insert into attention_segments (agent_id, mode, day, segment, site, workflow)
      select of_agent, of_mode, on_day, -1, '', ''
      where not exists (select from attention_segments known where known.agent_id = of_agent and known.mode = of_mode
        and known.day = on_day and known.segment = -1)
      on conflict do nothing;
      return -1;
    end if;
    insert into attention_segments (agent_id, mode, day, segment, site, workflow)
    values (of_agent, of_mode, on_day, found_segment, coalesce(of_site, ''), coalesce(of_workflow, ''))
    on conflict do nothing;
    if found then return found_segment; end if;
  end loop;
end $$;

create function attention_page(of_agent text, of_mode text, viewed timestamptz, of_path text)
returns smallint language plpgsql security definer set search_path = public, pg_temp as $$
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
revoke execute on function attention_segment(text, text, timestamptz, text, text),
  attention_page(text, text, timestamptz, text) from public;
grant execute on function attention_segment(text, text, timestamptz, text, text),
  attention_page(text, text, timestamptz, text) to pohf_app;

-- Where a view began and for what: known from its first beacon on, so that later ones need no look at the session.
alter table track_views
  add column segment smallint not null default 0,
  add column page smallint not null default 0;
alter table track_events
  add column segment smallint not null default 0,
  add column page smallint not null default 0;
alter table conversions add column segment smallint not null default 0;

alter table view_hours
  add column segment smallint not null default 0,
  -- Scored views by quality: [0, 0.05), [0.05, 0.1), … [0.95, 1].
  add column qualities int[] check (cardinality(qualities) = 20),
  -- Probes of scored views, and how many were answered right and in time.
  add column probes int not null default 0,
  add column passed int not null default 0,
  -- Views that a page opened; those that it ended; those that expired before.
  add column opened int not null default 0,
  add column finished int not null default 0,
  add column abandoned int not null default 0,
  -- The finished ones by duration, in the bins of check_duration_bin.
  add column durations int[] check (cardinality(durations) = 32),
  drop constraint view_hours_pkey;
alter table view_flag_hours add column segment smallint not null default 0, drop constraint view_flag_hours_pkey;
alter table beacon_hours add column segment smallint not null default 0, drop constraint beacon_hours_pkey;
alter table conversion_hours add column segment smallint not null default 0, drop constraint conversion_hours_pkey;

-- Views by the page on which they began: whole days, so that a month is few rows, and hours for the rest of a window.
create table landing_hours (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  hour timestamptz not null,
  segment smallint not null,
  page smallint not null,
  slot smallint not null check (slot between 0 and 3),
  landed int not null,
  engaged int not null,
  primary key (agent_id, mode, hour, segment, page, slot)
) with (fillfactor = 50);
create index landing_hours_old on landing_hours (hour);
call pohf_isolate('landing_hours');
create table landing_days (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  day date not null,
  segment smallint not null,
  page smallint not null,
  slot smallint not null check (slot between 0 and 3),
  landed int not null,
  engaged int not null,
  primary key (agent_id, mode, day, segment, page, slot)
) with (fillfactor = 50);
create index landing_days_old on landing_days (day);
call pohf_isolate('landing_days');
revoke insert, update, truncate on landing_hours, landing_days from pohf_app;

-- The bins of the duration of a check: ten for each factor of ten, from 1 to 1,000 seconds.
create function check_duration_bin(started timestamptz, ended timestamptz) returns int
language sql immutable parallel safe
  return width_bucket(extract(epoch from ended - started)::float8, array[1, 1.25, 1.6, 2, 2.5, 3.2, 4, 5, 6.3, 8, 10, 12.5,
    16, 20, 25, 32, 40, 50, 63, 80, 100, 125, 160, 200, 250, 320, 400, 500, 630, 800, 1000]::float8[]);
create function quality_bin(quality double precision) returns int language sql immutable parallel safe
  return case when quality >= 1 then 19 else floor(quality * 20)::int end;
-- One count in the place of a bin; zeros where there is none.
create function pohf_bin_counts(bin int, bins int, count int) returns int[] language sql immutable parallel safe as $$
  select case when bin is null then array_fill(0, array[bins])
    else array_fill(0, array[bin]) || count || array_fill(0, array[bins - 1 - bin]) end
$$;

-- A view as it is counted, or taken off where `change` is -1.
create type view_change as (
  agent_id text, mode text, hour timestamptz, segment smallint, change int, verified boolean, quality double precision,
  flags text[], probes int, passed int, opened boolean, finished boolean, abandoned boolean, duration_bin int
);
create function view_change_of(
  agent_id text, mode text, at timestamptz, hostname text, workflow_id text, status text, verified boolean,
  quality double precision, flags text[], counted jsonb, jkt text, ended_at timestamptz, change int
) returns view_change language sql volatile as $$
  select row(agent_id, mode, date_trunc('hour', at, 'UTC'), attention_segment(agent_id, mode, at, hostname, workflow_id),
    change, verified, quality, flags, coalesce((counted ->> 'probes')::int, 0), coalesce((counted ->> 'hits')::int, 0),
    jkt is not null, jkt is not null and ended_at is not null,
    jkt is not null and ended_at is null and status = 'expired',
    case when jkt is not null and ended_at is not null then check_duration_bin(at, ended_at) end)::view_change
$$;

-- Adds views to the figures of their hours, in the order of the keys.
create function view_hours_add(changes view_change[]) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  insert into view_hours as known (agent_id, mode, hour, segment, slot, views, verified, rejected, scored, quality,
    qualities, probes, passed, opened, finished, abandoned, durations)
  select agent_id, mode, hour, segment, pohf_hour_slot(), sum(change),
    coalesce(sum(change) filter (where verified), 0), coalesce(sum(change) filter (where not verified), 0),
    coalesce(sum(change) filter (where v.quality is not null), 0), coalesce(sum(change * v.quality::numeric), 0),
    nullif(pohf_sum_counts(pohf_bin_counts(quality_bin(v.quality), 20, change)) filter (where v.quality is not null), '{}'),
    sum(change * probes), sum(change * passed), coalesce(sum(change) filter (where opened), 0),
    coalesce(sum(change) filter (where finished), 0), coalesce(sum(change) filter (where abandoned), 0),
    nullif(pohf_sum_counts(pohf_bin_counts(duration_bin, 32, change)) filter (where duration_bin is not null), '{}')
  from unnest(changes) v group by agent_id, mode, hour, segment order by agent_id, mode, hour, segment
  on conflict (agent_id, mode, hour, segment, slot) do update set views = known.views + excluded.views,
    verified = known.verified + excluded.verified, rejected = known.rejected + excluded.rejected,
    scored = known.scored + excluded.scored, quality = known.quality + excluded.quality,
    qualities = case when excluded.qualities is null then known.qualities
      else pohf_add_counts(coalesce(known.qualities, '{}'), excluded.qualities) end,
    probes = known.probes + excluded.probes, passed = known.passed + excluded.passed,
    opened = known.opened + excluded.opened, finished = known.finished + excluded.finished,
    abandoned = known.abandoned + excluded.abandoned,
    durations = case when excluded.durations is null then known.durations
      else pohf_add_counts(coalesce(known.durations, '{}'), excluded.durations) end;
  insert into view_flag_hours as known (agent_id, mode, hour, segment, flag, slot, views)
  select agent_id, mode, hour, segment, flag, pohf_hour_slot(), sum(change)
  from unnest(changes) v, unnest(v.flags) flag
  group by agent_id, mode, hour, segment, flag having sum(change) <> 0
  order by agent_id, mode, hour, segment, flag
  on conflict (agent_id, mode, hour, segment, flag, slot) do update set views = known.views + excluded.views;
end $$;
revoke execute on function view_hours_add(view_change[]),
  view_change_of(text, text, timestamptz, text, text, text, boolean, double precision, text[], jsonb, text, timestamptz, int)
  from public;

create or replace function sessions_count_views() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  by_change int := case tg_op when 'INSERT' then 1 else -1 end;
  changes view_change[];
begin
  select array_agg(view_change_of(agent_id, mode, at, hostname, workflow_id, status, verified, quality, flags, counted, jkt,
    ended_at, by_change)) into changes
  from (select * from changed where kind = 'view' order by agent_id, mode, at) ordered;
  if changes is not null then perform view_hours_add(changes); end if;
  return null;
end $$;

-- As before, and a view that ends or expires. What the scorer counted comes with the quality.
create or replace function sessions_recount_view() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
declare changes view_change[] := '{}';
begin
  if old.kind = 'view' then
    changes := changes || view_change_of(old.agent_id, old.mode, old.at, old.hostname, old.workflow_id, old.status,
      old.verified, old.quality, old.flags, old.counted, old.jkt, old.ended_at, -1);
  end if;
  if new.kind = 'view' then
    changes := changes || view_change_of(new.agent_id, new.mode, new.at, new.hostname, new.workflow_id, new.status,
      new.verified, new.quality, new.flags, new.counted, new.jkt, new.ended_at, 1);
  end if;
  perform view_hours_add(changes);
  return null;
end $$;
drop trigger count_changed on sessions;
create trigger count_changed after update of agent_id, mode, kind, at, hostname, workflow_id, status, verified, quality, flags,
    jkt, ended_at on sessions
  for each row when ((old.kind = 'view' or new.kind = 'view') and
    (old.agent_id, old.mode, old.kind, old.at, old.hostname, old.workflow_id, old.status = 'expired', old.verified,
      old.quality, old.flags, old.jkt, old.ended_at)
    is distinct from (new.agent_id, new.mode, new.kind, new.at, new.hostname, new.workflow_id, new.status = 'expired',
      new.verified, new.quality, new.flags, new.jkt, new.ended_at))
  execute function sessions_recount_view();

create or replace function track_count_beacons() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
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

create or replace function track_count_conversions() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
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

-- What is stored already, counted again by the new keys. The triggers above hold writers off until this transaction ends.
select set_config('pohf.tenant', 'system', true);
delete from view_hours;
delete from view_flag_hours;
alter table view_hours add primary key (agent_id, mode, hour, segment, slot);
alter table view_flag_hours add primary key (agent_id, mode, hour, segment, flag, slot);
do $$
declare of_hour record;
begin
  -- An hour of an agent at a time: a change of every view at once would not fit into memory.
  for of_hour in
    select agent_id, mode, date_trunc('hour', at, 'UTC') as hour from sessions where kind = 'view' group by 1, 2, 3 order by 3
  loop
    perform view_hours_add(array_agg(view_change_of(agent_id, mode, at, hostname, workflow_id, status, verified, quality, flags,
      counted, jkt, ended_at, 1)))
    from sessions where kind = 'view' and agent_id = of_hour.agent_id and mode = of_hour.mode and at >= of_hour.hour
      and at < of_hour.hour + interval '1 hour';
  end loop;
end $$;

-- Beacons and conversions take the segment of their view, where it is still stored, and the page of its first beacon.
update track_views view set segment = attention_segment(view.agent_id, view.mode, s.at, s.hostname, s.workflow_id)
from sessions s where s.agent_id = view.agent_id and s.session_id = view.session_id and s.at = view.viewed_at
  and s.mode = view.mode and (s.hostname is not null or s.workflow_id is not null);
update track_events event set segment = attention_segment(event.agent_id, event.mode, s.at, s.hostname, s.workflow_id)
from sessions s where s.agent_id = event.agent_id and s.session_id = event.session_id and s.at = event.viewed_at
  and s.mode = event.mode and (s.hostname is not null or s.workflow_id is not null);
update conversions sale set segment = attention_segment(sale.agent_id, sale.mode, s.at, s.hostname, s.workflow_id)
from sessions s where s.agent_id = sale.agent_id and s.session_id = sale.session_id and s.at = sale.viewed_at
  and s.mode = sale.mode and (s.hostname is not null or s.workflow_id is not null);
update track_events event
set page = attention_page(event.agent_id, event.mode, event.viewed_at, landing.path)
from track_events landing
where landing.agent_id = event.agent_id and landing.mode = event.mode and landing.session_id = event.session_id
  and landing.viewed_at = event.viewed_at and landing.seq = 1 and landing.path is not null;
update track_views view set page = landing.page
from track_events landing
where landing.agent_id = view.agent_id and landing.mode = view.mode and landing.session_id = view.session_id
  and landing.viewed_at = view.viewed_at and landing.seq = 1;

-- Rows from before the marks of 0059: reads add up the marks and count no distinct views.
update track_events event set first_engagement = true
from (
  select distinct on (agent_id, mode, session_id, viewed_at) agent_id, mode, session_id, seq, at from track_events
  where lower(type) in ('engaged', 'scroll', 'click', 'dwell', 'input')
  order by agent_id, mode, session_id, viewed_at, seq) first
where event.agent_id = first.agent_id and event.mode = first.mode and event.session_id = first.session_id
  and event.seq = first.seq and event.at = first.at and not event.first_engagement;
update conversions sale set first_of_view = true
from (
  select distinct on (agent_id, mode, session_id) agent_id, event_id, at from conversions
  order by agent_id, mode, session_id, at, event_id) first
where sale.agent_id = first.agent_id and sale.event_id = first.event_id and sale.at = first.at and not sale.first_of_view
  and not exists (select from conversions marked where marked.agent_id = sale.agent_id and marked.mode = sale.mode
    and marked.session_id = sale.session_id and marked.first_of_view);

create temporary table kept_hours on commit drop as
  select (date_trunc('month', pohf_now() at time zone 'UTC') - interval '13 months') at time zone 'UTC' as first;
delete from beacon_hours;
delete from conversion_hours;
alter table beacon_hours add primary key (agent_id, mode, hour, segment, slot);
alter table conversion_hours add primary key (agent_id, mode, hour, segment, currency, slot);
insert into landing_hours (agent_id, mode, hour, segment, page, slot, landed, engaged)
select agent_id, mode, date_trunc('hour', viewed_at, 'UTC') as hour, segment, page, 0, count(distinct session_id),
  count(distinct session_id) filter (where lower(type) in ('engaged', 'scroll', 'click', 'dwell', 'input'))
from track_events, kept_hours where viewed_at >= first group by agent_id, mode, hour, segment, page;
insert into landing_days (agent_id, mode, day, segment, page, slot, landed, engaged)
select agent_id, mode, pohf_day(hour) as day, segment, page, 0, sum(landed), sum(engaged)
from landing_hours group by agent_id, mode, day, segment, page;
insert into beacon_hours (agent_id, mode, hour, segment, slot, landed, engaged)
select agent_id, mode, hour, segment, 0, sum(landed), sum(engaged)
from landing_hours group by agent_id, mode, hour, segment;
insert into conversion_hours (agent_id, mode, hour, segment, currency, slot, conversions, converted, valued, total)
select agent_id, mode, date_trunc('hour', viewed_at, 'UTC') as hour, segment, code, 0, count(*),
  count(*) filter (where first_of_view), count(value), coalesce(sum(value::numeric), 0)
from (select *, coalesce(currency, 'XXX') as code from conversions) sale
group by agent_id, mode, hour, segment, code;
