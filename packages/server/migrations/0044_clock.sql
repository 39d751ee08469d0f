-- Deployment-wide: the latest time of this database that the worker has seen, and when it last found the clock set back.
create table platform_clock (
  single boolean primary key default true check (single),
  seen_at timestamptz not null default pohf_now(),
  set_back_at timestamptz
);
insert into platform_clock default values;
revoke insert, update, delete on platform_clock from pohf_app;

-- Columns that hold when to work on a row next, or until when a worker holds it; pohf_follow_clock moves them.
create table platform_due_times (
  table_name text not null,
  column_name text not null,
  condition text not null default 'true',
  primary key (table_name, column_name)
);
revoke insert, update, delete on platform_due_times from pohf_app;
insert into platform_due_times values
  ('outbox', 'due_at', default),
  ('webhook_deliveries', 'due_at', 'state = ''pending'''),
  ('webhook_endpoints', 'open_until', default),
  ('webhook_endpoints', 'watch_at', default),
  ('webhook_hosts', 'busy_until', default),
  ('webhook_hosts', 'window_ends_at', default),
  ('purchases', 'due_at', default),
  ('card_refunds', 'next_at', 'state in (''wanted'', ''sent'')'),
  ('status_lists', 'built_at', default),
  ('status_lists', 'lease_until', default),
  ('ledger_compared', 'until', default);

-- Compares the clock with the time that was seen last. After a jump it makes the partitions of the new date. Where the
-- clock was set back, it moves every due time back by as much, or what was due would wait until the clock is there again.
-- Returns by how much the clock was set back, or null.
create function pohf_follow_clock() returns interval
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  seen timestamptz;
  behind interval;
  entry record;
begin
  select seen_at into seen from platform_clock;
  if pohf_now() >= seen and pohf_now() < seen + interval '5 seconds' then return null; end if;
  -- Two workers may come at the same time; the second has nothing to do.
  select seen_at into seen from platform_clock for update skip locked;
  if not found then return null; end if;
  behind := seen - pohf_now();
  -- A transaction keeps the time of its start: one that began before the jump may still write due times of the old clock.
  if behind > interval '5 seconds' and exists (
    select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
      and application_name like 'pohf-%' and xact_start > clock_timestamp() + interval '1 second')
  then return null; end if;
  if abs(extract(epoch from behind)) > 60 then
    for entry in select table_name, by_day from platform_partitioned loop
      if entry.by_day then call pohf_make_days(entry.table_name::regclass, pohf_now(), 8);
      else call pohf_make_partitions(entry.table_name::regclass, pohf_now(), 3); end if;
    end loop;
  end if;
  if behind <= interval '5 seconds' then
    update platform_clock set seen_at = greatest(seen_at, pohf_now());
    return null;
  end if;
  for entry in select table_name, column_name, condition from platform_due_times loop
    execute format('update %1$I set %2$I = %2$I - $1 where %2$I > pohf_now() and %3$s',
      entry.table_name, entry.column_name, entry.condition) using behind;
  end loop;
  update platform_clock set seen_at = pohf_now(), set_back_at = pohf_now();
  return behind;
end $$;
revoke execute on function pohf_follow_clock() from public;
grant execute on function pohf_follow_clock() to pohf_app;
