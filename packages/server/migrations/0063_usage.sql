-- Figures of sessions of every kind by the hour of their start, in UTC, and of credits by the hour in which they were spent.
-- Triggers write them, as those of 0059: exact at any time, and nobody else can write them. `slot` as there.
create table session_hours (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  hour timestamptz not null,
  slot smallint not null check (slot between 0 and 3),
  started int not null,
  -- Of the sessions that started in this hour.
  ended int not null,
  verified int not null,
  refused int not null,
  -- Scored sessions by quality: [0, 0.1), [0.1, 0.2), … [0.9, 1].
  quality int[] not null check (cardinality(quality) = 10),
  primary key (agent_id, mode, hour, slot)
) with (fillfactor = 50);
call pohf_isolate('session_hours');

create table session_reason_hours (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  hour timestamptz not null,
  reason text not null,
  slot smallint not null check (slot between 0 and 3),
  refused int not null,
  primary key (agent_id, mode, hour, reason, slot)
) with (fillfactor = 50);
call pohf_isolate('session_reason_hours');

-- No slots: whoever posts to an account holds its lock, so that nobody waits for a row of this table.
create table ledger_hours (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  account text not null,
  unit text not null,
  hour timestamptz not null,
  amount bigint not null,
  primary key (agent_id, mode, account, unit, hour)
) with (fillfactor = 50);
call pohf_isolate('ledger_hours');
revoke insert, update, delete, truncate on session_hours, session_reason_hours, ledger_hours from pohf_app;

-- One count in the place of a quality; zeros for a session without a score.
create function session_quality_counts(quality double precision, count int) returns int[]
language sql immutable parallel safe as $$
  select array_agg(case when n = least(floor(quality * 10), 9) then count else 0 end order by n) from generate_series(0, 9) n
$$;
create function pohf_add_counts(known int[], added int[]) returns int[] language sql immutable parallel safe as $$
  select array_agg(coalesce(pair.known, 0) + coalesce(pair.added, 0) order by pair.n)
  from unnest(known, added) with ordinality pair (known, added, n)
$$;
create aggregate pohf_sum_counts (int[]) (sfunc = pohf_add_counts, stype = int[], initcond = '{}', parallel = safe);

-- Sessions that are stored or deleted, in one statement for all rows of theirs, in the order of the keys.
create function sessions_count_hours() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  change int := case tg_op when 'INSERT' then 1 else -1 end;
begin
  insert into session_hours as known (agent_id, mode, hour, slot, started, ended, verified, refused, quality)
  select agent_id, mode, date_trunc('hour', at, 'UTC') as hour, pohf_hour_slot(), change * count(*),
    change * count(ended_at), change * count(*) filter (where verified), change * count(*) filter (where not verified),
    pohf_sum_counts(session_quality_counts(quality, change))
  from changed group by agent_id, mode, hour order by agent_id, mode, hour
  on conflict (agent_id, mode, hour, slot) do update set started = known.started + excluded.started,
    ended = known.ended + excluded.ended, verified = known.verified + excluded.verified,
    refused = known.refused + excluded.refused, quality = pohf_add_counts(known.quality, excluded.quality);
  insert into session_reason_hours as known (agent_id, mode, hour, reason, slot, refused)
  select agent_id, mode, date_trunc('hour', at, 'UTC') as hour, reason, pohf_hour_slot(), change * count(*)
  from changed, unnest(reasons) reason where not verified
  group by agent_id, mode, hour, reason order by agent_id, mode, hour, reason
  on conflict (agent_id, mode, hour, reason, slot) do update set refused = known.refused + excluded.refused;
  return null;
end $$;
-- Triggers fire in the order of their names: these come before count_stored and so on of 0059. Whoever locks a row of
-- view_hours then holds that of session_hours, which counts sessions of every kind, so that no two wait in a circle.
create trigger all_kinds_stored after insert on sessions referencing new table as changed
  for each statement execute function sessions_count_hours();
create trigger all_kinds_deleted after delete on sessions referencing old table as changed
  for each statement execute function sessions_count_hours();

-- A session that ends or is scored. The mint changes none of these columns and pays nothing.
create function sessions_recount_hours() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  insert into session_hours as known (agent_id, mode, hour, slot, started, ended, verified, refused, quality)
  select agent_id, mode, date_trunc('hour', at, 'UTC') as hour, pohf_hour_slot(), sum(change),
    coalesce(sum(change) filter (where ended_at is not null), 0), coalesce(sum(change) filter (where verified), 0),
    coalesce(sum(change) filter (where not verified), 0), pohf_sum_counts(session_quality_counts(quality, change))
  from (values (old.agent_id, old.mode, old.at, old.ended_at, old.verified, old.quality, -1),
    (new.agent_id, new.mode, new.at, new.ended_at, new.verified, new.quality, 1))
    row (agent_id, mode, at, ended_at, verified, quality, change)
  group by agent_id, mode, hour order by agent_id, mode, hour
  on conflict (agent_id, mode, hour, slot) do update set started = known.started + excluded.started,
    ended = known.ended + excluded.ended, verified = known.verified + excluded.verified,
    refused = known.refused + excluded.refused, quality = pohf_add_counts(known.quality, excluded.quality);
  insert into session_reason_hours as known (agent_id, mode, hour, reason, slot, refused)
  select agent_id, mode, date_trunc('hour', at, 'UTC') as hour, reason, pohf_hour_slot(), sum(change)
  from (values (old.agent_id, old.mode, old.at, old.verified, old.reasons, -1),
    (new.agent_id, new.mode, new.at, new.verified, new.reasons, 1)) row (agent_id, mode, at, verified, reasons, change),
    unnest(reasons) reason
  where not verified
  group by agent_id, mode, hour, reason having sum(change) <> 0 order by agent_id, mode, hour, reason
  on conflict (agent_id, mode, hour, reason, slot) do update set refused = known.refused + excluded.refused;
  return null;
end $$;
create trigger all_kinds_changed after update of agent_id, mode, at, ended_at, verified, quality, reasons on sessions
  for each row when ((old.agent_id, old.mode, old.at, old.ended_at is null, old.verified, old.quality, old.reasons)
    is distinct from (new.agent_id, new.mode, new.at, new.ended_at is null, new.verified, new.quality, new.reasons))
  execute function sessions_recount_hours();

create function ledger_count_hours() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  insert into ledger_hours as known (agent_id, mode, account, unit, hour, amount)
  select agent_id, mode, account, unit, date_trunc('hour', at, 'UTC') as hour, sum(amount)
  from changed where account like 'consumed:%'
  group by agent_id, mode, account, unit, hour order by agent_id, mode, account, unit, hour
  on conflict (agent_id, mode, account, unit, hour) do update set amount = known.amount + excluded.amount;
  return null;
end $$;
create trigger count_hours after insert on ledger_lines referencing new table as changed
  for each statement execute function ledger_count_hours();

-- What is stored already. The triggers above hold writers off until this transaction ends.
select set_config('pohf.tenant', 'system', true);
insert into session_hours (agent_id, mode, hour, slot, started, ended, verified, refused, quality)
select agent_id, mode, date_trunc('hour', at, 'UTC') as hour, 0, count(*), count(ended_at), count(*) filter (where verified),
  count(*) filter (where not verified), pohf_sum_counts(session_quality_counts(quality, 1))
from sessions group by agent_id, mode, hour;
insert into session_reason_hours (agent_id, mode, hour, reason, slot, refused)
select agent_id, mode, date_trunc('hour', at, 'UTC') as hour, reason, 0, count(*)
from sessions, unnest(reasons) reason where not verified group by agent_id, mode, hour, reason;
insert into ledger_hours (agent_id, mode, account, unit, hour, amount)
select agent_id, mode, account, unit, date_trunc('hour', at, 'UTC') as hour, sum(amount)
from ledger_lines where account like 'consumed:%' group by agent_id, mode, account, unit, hour;
