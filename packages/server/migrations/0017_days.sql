-- Partitions by day, for what is kept for days: dropping a day costs nothing, deleting its rows would.
alter table platform_partitioned add column by_day boolean not null default false;
alter table platform_partitioned add check (not by_day or keep_months is null);

create procedure pohf_make_days(target regclass, from_at timestamptz, days int) language plpgsql as $$
declare
  first date := (from_at at time zone 'UTC')::date;
  part text;
begin
  for i in 0 .. days - 1 loop
    part := format('%s_%s', target::text, to_char(first + i, 'YYYY_MM_DD'));
    if to_regclass(part) is null then
      begin
        execute format('create table %I partition of %s for values from (%L) to (%L)', part, target,
          (first + i)::text || ' 00:00:00+00', (first + i + 1)::text || ' 00:00:00+00');
        execute format('revoke all on %I from pohf_app', part);
      exception when duplicate_table then null;
      end;
    end if;
  end loop;
end $$;

create or replace function pohf_maintain_partitions() returns void
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  entry record;
  part record;
begin
  -- Two nodes may come at the same time; the second has nothing to do.
  if not pg_try_advisory_xact_lock(hashtextextended('pohf_maintain_partitions', 0)) then return; end if;
  for entry in select table_name, keep_months, by_day from platform_partitioned loop
    if entry.by_day then
      call pohf_make_days(entry.table_name::regclass, pohf_now(), 8);
      continue;
    end if;
    call pohf_make_partitions(entry.table_name::regclass, pohf_now(), 3);
    for part in
      select child.relname as name from pg_inherits
      join pg_class child on child.oid = inhrelid
      where inhparent = entry.table_name::regclass and entry.keep_months is not null
        and child.relname < format('%s_%s', entry.table_name,
          to_char(date_trunc('month', pohf_now() at time zone 'UTC') - make_interval(months => entry.keep_months), 'YYYY_MM'))
    loop
      execute format('drop table %I', part.name);
    end loop;
  end loop;
end $$;

-- Drops the days before the last `keep_days`; says how many. How long is a setting, so it comes with the call.
create function pohf_drop_days(target text, keep_days int) returns int
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  part record;
  dropped int := 0;
begin
  if keep_days < 1 or not exists (select from platform_partitioned where table_name = target and by_day) then
    raise exception 'days of % cannot be dropped', target using errcode = 'invalid_parameter_value';
  end if;
  if not pg_try_advisory_xact_lock(hashtextextended('pohf_maintain_partitions', 0)) then return 0; end if;
  for part in
    select child.relname as name from pg_inherits join pg_class child on child.oid = inhrelid
    where inhparent = target::regclass
      and child.relname < format('%s_%s', target, to_char((pohf_now() at time zone 'UTC')::date - keep_days, 'YYYY_MM_DD'))
  loop
    execute format('drop table %I', part.name);
    dropped := dropped + 1;
  end loop;
  return dropped;
end $$;
revoke execute on function pohf_drop_days(text, int) from public;
grant execute on function pohf_drop_days(text, int) to pohf_app;
