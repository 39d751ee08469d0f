-- Figures by the hour and the day are written to four rows for each key, so that connections do not wait for each other
-- (pohf_hour_slot). When the hour is over, a job adds them up in slot 0: reports then read a quarter of the rows. A change that
-- comes later makes a row in another slot again, and is merged in turn.
create index view_hours_to_merge on view_hours (hour) where slot <> 0;
create index view_flag_hours_to_merge on view_flag_hours (hour) where slot <> 0;
create index beacon_hours_to_merge on beacon_hours (hour) where slot <> 0;
create index conversion_hours_to_merge on conversion_hours (hour) where slot <> 0;
create index landing_hours_to_merge on landing_hours (hour) where slot <> 0;
create index landing_days_to_merge on landing_days (day) where slot <> 0;
create index session_hours_to_merge on session_hours (hour) where slot <> 0;
create index session_reason_hours_to_merge on session_reason_hours (hour) where slot <> 0;

-- Merges at most `batch` rows of one table and returns their number. Rows that somebody is writing wait for the next call. One
-- table for each transaction, and no wait of more than 100 ms: whoever writes figures of several tables or hours never waits in a
-- circle with a merge until the second after which PostgreSQL ends one of the two.
create function pohf_merge_slots(figures regclass, batch int) returns int
language plpgsql security definer set search_path = public, pg_temp set lock_timeout = '100ms' as $$
declare
  keys text;
  period text;
  columns text;
  sums text;
  additions text;
  merged int;
begin
  if figures <> all (array['view_hours', 'view_flag_hours', 'beacon_hours', 'conversion_hours', 'landing_hours', 'landing_days',
    'session_hours', 'session_reason_hours']::regclass[]) then raise exception '% has no slots', figures; end if;
  select string_agg(quote_ident(attname), ', ') filter (where is_key and attname <> 'slot'),
    string_agg(quote_ident(attname), '') filter (where attname in ('hour', 'day')),
    string_agg(quote_ident(attname), ', ') filter (where not is_key),
    string_agg(format(case when not is_list then 'sum(%1$I)' when attnotnull then 'pohf_sum_counts(%1$I)'
      else 'nullif(pohf_sum_counts(%1$I) filter (where %1$I is not null), ''{}'')' end, attname), ', ') filter (where not is_key),
    string_agg(format(case when is_list
      then '%1$I = case when excluded.%1$I is null then known.%1$I
        else pohf_add_counts(coalesce(known.%1$I, ''{}''), excluded.%1$I) end'
      else '%1$I = known.%1$I + excluded.%1$I' end, attname), ', ') filter (where not is_key)
  into strict keys, period, columns, sums, additions
  from (
    select attname, attnotnull, typcategory = 'A' as is_list, attnum = any(indkey) as is_key
    from pg_attribute join pg_type on pg_type.oid = atttypid join pg_index on indrelid = attrelid and indisprimary
    where attrelid = figures and attnum > 0 and not attisdropped order by attnum) described;
  execute format('
    with chosen as materialized (
      select ctid as place from %1$s where slot <> 0 and %2$s < $1 order by %2$s limit $2 for update skip locked),
    merged as (delete from %1$s where ctid = any(array(select place from chosen)) returning *),
    added as (
      insert into %1$s as known (%3$s, slot, %4$s)
      select %3$s, 0, %5$s from merged group by %3$s order by %3$s
      on conflict (%3$s, slot) do update set %6$s)
    select count(*) from merged', figures, period, keys, columns, sums, additions)
  into merged
  using case period when 'day' then pohf_now() - interval '2 days' else pohf_now() - interval '2 hours' end, batch;
  return merged;
exception when lock_not_available then return 0;
end $$;
revoke execute on function pohf_merge_slots(regclass, int) from public;
grant execute on function pohf_merge_slots(regclass, int) to pohf_app;
