-- Makes the partitions of the next three months and drops those past their retention. The program's role owns
-- no table, so this runs as the owner and does this one thing.
create function pohf_maintain_partitions() returns void
language plpgsql security definer set search_path = public, pg_temp as $$
declare
  entry record;
  part record;
begin
  -- Two nodes may come at the same time; the second has nothing to do.
  if not pg_try_advisory_xact_lock(hashtextextended('pohf_maintain_partitions', 0)) then return; end if;
  for entry in select table_name, keep_months from platform_partitioned loop
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
revoke execute on function pohf_maintain_partitions() from public;
grant execute on function pohf_maintain_partitions() to pohf_app;
