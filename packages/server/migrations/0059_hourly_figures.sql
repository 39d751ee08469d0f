-- Figures of views, beacons and conversions by the hour of the view, in UTC. Triggers write them in the transaction of the
-- row that they count, so that they are exact at any time, and nobody else can write them. `slot` is one of four by the
-- connection: transactions that count for the same hour then seldom wait for each other. A slot alone may be negative,
-- where a session was stored by one connection and deleted by another; the sum is the figure.
create table view_hours (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  hour timestamptz not null,
  slot smallint not null check (slot between 0 and 3),
  views int not null,
  verified int not null,
  rejected int not null,
  scored int not null,
  -- The sum over scored views, in decimals: it does not depend on the order of additions and subtractions.
  quality numeric not null,
  primary key (agent_id, mode, hour, slot)
) with (fillfactor = 50);
call pohf_isolate('view_hours');

create table view_flag_hours (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  hour timestamptz not null,
  flag text not null,
  slot smallint not null check (slot between 0 and 3),
  views int not null,
  primary key (agent_id, mode, hour, flag, slot)
) with (fillfactor = 50);
call pohf_isolate('view_flag_hours');

create table beacon_hours (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  hour timestamptz not null,
  slot smallint not null check (slot between 0 and 3),
  -- Views with a beacon, and with one that counts as engagement.
  landed int not null,
  engaged int not null,
  primary key (agent_id, mode, hour, slot)
) with (fillfactor = 50);
create index beacon_hours_old on beacon_hours (hour);
call pohf_isolate('beacon_hours');

create table conversion_hours (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  hour timestamptz not null,
  -- XXX is ISO 4217 for none named.
  currency text not null check (currency ~ '^[A-Z]{3}$'),
  slot smallint not null check (slot between 0 and 3),
  conversions int not null,
  -- Views whose first conversion this is.
  converted int not null,
  -- Conversions with a value, and its sum.
  valued int not null,
  total numeric not null,
  primary key (agent_id, mode, hour, currency, slot)
) with (fillfactor = 50);
call pohf_isolate('conversion_hours');

revoke insert, update, delete, truncate on view_hours, view_flag_hours, conversion_hours from pohf_app;
revoke insert, update, truncate on beacon_hours from pohf_app;

create function pohf_hour_slot() returns smallint language sql stable return (pg_backend_pid() % 4)::smallint;

-- Sessions that are stored or deleted, in one statement for all rows of theirs. In the order of the keys, so that two
-- statements never wait for each other in a circle.
create function sessions_count_views() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  change int := case tg_op when 'INSERT' then 1 else -1 end;
begin
  insert into view_hours as known (agent_id, mode, hour, slot, views, verified, rejected, scored, quality)
  select agent_id, mode, date_trunc('hour', at, 'UTC') as hour, pohf_hour_slot(), change * count(*),
    change * count(*) filter (where verified), change * count(*) filter (where not verified), change * count(quality),
    change * coalesce(sum(quality::numeric), 0)
  from changed where kind = 'view' group by agent_id, mode, hour order by agent_id, mode, hour
  on conflict (agent_id, mode, hour, slot) do update set views = known.views + excluded.views,
    verified = known.verified + excluded.verified, rejected = known.rejected + excluded.rejected,
    scored = known.scored + excluded.scored, quality = known.quality + excluded.quality;
  insert into view_flag_hours as known (agent_id, mode, hour, flag, slot, views)
  select agent_id, mode, date_trunc('hour', at, 'UTC') as hour, flag, pohf_hour_slot(), change * count(*)
  from changed, unnest(flags) flag where kind = 'view'
  group by agent_id, mode, hour, flag order by agent_id, mode, hour, flag
  on conflict (agent_id, mode, hour, flag, slot) do update set views = known.views + excluded.views;
  return null;
end $$;
create trigger count_stored after insert on sessions referencing new table as changed
  for each statement execute function sessions_count_views();
create trigger count_deleted after delete on sessions referencing old table as changed
  for each statement execute function sessions_count_views();

-- A session whose figures change: it is scored. For each row, because a trigger for some columns sees no table of rows;
-- the mint changes none of these columns and pays nothing.
create function sessions_recount_view() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  insert into view_hours as known (agent_id, mode, hour, slot, views, verified, rejected, scored, quality)
  select agent_id, mode, date_trunc('hour', at, 'UTC') as hour, pohf_hour_slot(), sum(change),
    coalesce(sum(change) filter (where verified), 0), coalesce(sum(change) filter (where not verified), 0),
    coalesce(sum(change) filter (where quality is not null), 0), coalesce(sum(change * quality::numeric), 0)
  from (values (old.agent_id, old.mode, old.kind, old.at, old.verified, old.quality, -1),
    (new.agent_id, new.mode, new.kind, new.at, new.verified, new.quality, 1))
    row(agent_id, mode, kind, at, verified, quality, change)
  where kind = 'view' group by agent_id, mode, hour order by agent_id, mode, hour
  on conflict (agent_id, mode, hour, slot) do update set views = known.views + excluded.views,
    verified = known.verified + excluded.verified, rejected = known.rejected + excluded.rejected,
    scored = known.scored + excluded.scored, quality = known.quality + excluded.quality;
  insert into view_flag_hours as known (agent_id, mode, hour, flag, slot, views)
  select agent_id, mode, date_trunc('hour', at, 'UTC') as hour, flag, pohf_hour_slot(), sum(change)
  from (values (old.agent_id, old.mode, old.kind, old.at, old.flags, -1),
    (new.agent_id, new.mode, new.kind, new.at, new.flags, 1)) row(agent_id, mode, kind, at, flags, change),
    unnest(flags) flag
  where kind = 'view'
  group by agent_id, mode, hour, flag having sum(change) <> 0 order by agent_id, mode, hour, flag
  on conflict (agent_id, mode, hour, flag, slot) do update set views = known.views + excluded.views;
  return null;
end $$;
create trigger count_changed after update of agent_id, mode, kind, at, verified, quality, flags on sessions
  for each row when ((old.agent_id, old.mode, old.kind, old.at, old.verified, old.quality, old.flags)
    is distinct from (new.agent_id, new.mode, new.kind, new.at, new.verified, new.quality, new.flags))
  execute function sessions_recount_view();

-- The first engagement and the first conversion of a view are known under the lock of the view. The first beacon has the
-- number 1. Marked in the rows, distinct views become plain sums.
alter table track_views
  add column engaged boolean not null default false,
  add column converted boolean not null default false;
alter table track_events add column first_engagement boolean not null default false;
alter table conversions add column first_of_view boolean not null default false;

create function track_count_beacons() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  insert into beacon_hours as known (agent_id, mode, hour, slot, landed, engaged)
  select agent_id, mode, date_trunc('hour', viewed_at, 'UTC') as hour, pohf_hour_slot(),
    count(*) filter (where seq = 1), count(*) filter (where first_engagement)
  from changed where seq = 1 or first_engagement
  group by agent_id, mode, hour order by agent_id, mode, hour
  on conflict (agent_id, mode, hour, slot) do update set landed = known.landed + excluded.landed,
    engaged = known.engaged + excluded.engaged;
  return null;
end $$;
create trigger count_stored after insert on track_events referencing new table as changed
  for each statement execute function track_count_beacons();

create function track_count_conversions() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  insert into conversion_hours as known
    (agent_id, mode, hour, currency, slot, conversions, converted, valued, total)
  select agent_id, mode, date_trunc('hour', viewed_at, 'UTC') as hour, coalesce(currency, 'XXX') as code,
    pohf_hour_slot(), count(*), count(*) filter (where first_of_view), count(value),
    coalesce(sum(value::numeric), 0)
  from changed group by agent_id, mode, hour, code order by agent_id, mode, hour, code
  on conflict (agent_id, mode, hour, currency, slot) do update set conversions = known.conversions + excluded.conversions,
    converted = known.converted + excluded.converted, valued = known.valued + excluded.valued,
    total = known.total + excluded.total;
  return null;
end $$;
create trigger count_stored after insert on conversions referencing new table as changed
  for each statement execute function track_count_conversions();

-- What is stored already. The triggers above hold writers off until this transaction ends.
select set_config('pohf.tenant', 'system', true);
insert into view_hours (agent_id, mode, hour, slot, views, verified, rejected, scored, quality)
select agent_id, mode, date_trunc('hour', at, 'UTC') as hour, 0, count(*), count(*) filter (where verified),
  count(*) filter (where not verified), count(quality), coalesce(sum(quality::numeric), 0)
from sessions where kind = 'view' group by agent_id, mode, hour;
insert into view_flag_hours (agent_id, mode, hour, flag, slot, views)
select agent_id, mode, date_trunc('hour', at, 'UTC') as hour, flag, 0, count(*)
from sessions, unnest(flags) flag where kind = 'view' group by agent_id, mode, hour, flag;
insert into beacon_hours (agent_id, mode, hour, slot, landed, engaged)
select agent_id, mode, date_trunc('hour', viewed_at, 'UTC') as hour, 0, count(distinct session_id),
  count(distinct session_id) filter (where lower(type) in ('engaged', 'scroll', 'click', 'dwell', 'input'))
from track_events
-- Of older views some beacons are dropped already.
where viewed_at >= (date_trunc('month', pohf_now() at time zone 'UTC') - interval '13 months') at time zone 'UTC'
group by agent_id, mode, hour;
insert into conversion_hours (agent_id, mode, hour, currency, slot, conversions, converted, valued, total)
select agent_id, mode, date_trunc('hour', viewed_at, 'UTC') as hour, code, 0, count(*),
  count(*) filter (where n = 1), count(value), coalesce(sum(value::numeric), 0)
from (select agent_id, mode, viewed_at, value, coalesce(currency, 'XXX') as code,
    row_number() over (partition by agent_id, mode, session_id order by at, event_id) as n
  from conversions) row
group by agent_id, mode, hour, code;
-- Views whose token is still valid: what they had already is not counted again.
insert into track_views as known (agent_id, mode, session_id, viewed_at, converted)
select distinct agent_id, mode, session_id, viewed_at, true from conversions
where viewed_at >= pohf_now() - interval '35 days'
on conflict (agent_id, mode, session_id) do update set converted = true;
update track_views view set engaged = true
where exists (
  select from track_events event
  where event.agent_id = view.agent_id and event.mode = view.mode and event.session_id = view.session_id
    and event.viewed_at = view.viewed_at and lower(event.type) in ('engaged', 'scroll', 'click', 'dwell', 'input'));
