-- Deployment-wide: how many live credentials of a clock hour a restored database does not know the roots of. The hour is counted
-- from 1970.
create table root_losses (
  hour int primary key,
  credentials int not null check (credentials > 0)
);
revoke delete on root_losses from pohf_app;

-- As before. Of a day and an hour with such a loss, every counter takes the loss as spent, up to half of its limit: each of
-- these credentials may have been of its root, and no more than that is known.
create or replace function roots_take(
  at_day date, at_hour int, of_day int, tags text[], spenders text[], hour_limits int[], day_limits int[]
) returns table (tag text, spender text, excess int, is_day boolean)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare
  first_hour int := (at_day - date '1970-01-01') * 24;
  day_lost bigint;
  hour_lost bigint;
begin
  select coalesce(sum(loss.credentials), 0), coalesce(sum(loss.credentials) filter (where loss.hour = at_hour), 0)
    into day_lost, hour_lost
    from root_losses loss where loss.hour between first_hour and first_hour + 23;
  return query
    with taken as (
      insert into root_counters as counter (day, tag, spender, used, hours, day_limit, hour_limit)
        select at_day, entry.tag, entry.spender, of_day * count(*)::int,
          array_fill(count(*)::int, array[1], array[at_hour]),
          min(entry.day_limit) - least(day_lost, min(entry.day_limit) / 2)::int,
          min(entry.hour_limit) - least(hour_lost, min(entry.hour_limit) / 2)::int
        from unnest(tags, spenders, hour_limits, day_limits) entry (tag, spender, hour_limit, day_limit)
        group by entry.tag, entry.spender
        order by entry.tag collate "C", entry.spender collate "C"
      on conflict (day, tag, spender) do update set used = counter.used + excluded.used,
        hours[at_hour] = coalesce(counter.hours[at_hour], 0) + excluded.hours[at_hour],
        day_limit = excluded.day_limit, hour_limit = excluded.hour_limit
      returning counter.tag, counter.spender, counter.used - counter.day_limit as day_excess,
        counter.hours[at_hour] - counter.hour_limit as hour_excess
    )
    select taken.tag, taken.spender, greatest(taken.day_excess, taken.hour_excess),
      taken.day_excess >= coalesce(taken.hour_excess, 0)
    from taken where taken.day_excess > 0 or taken.hour_excess > 0;
end $$;
