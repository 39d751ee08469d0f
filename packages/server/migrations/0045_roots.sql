-- Scarce roots: what a live credential spends besides a credit. The tables count per deployment, whichever agent spends.

-- Deployment-wide: the key of each UTC day, sealed by the master key. Tags of a day are HMACs under its key. The job
-- `root keys` destroys a key 24 hours after its day. The row stays, so that no day gets a second key.
create table root_keys (
  day date primary key,
  sealed text,
  destroyed_at timestamptz,
  check ((sealed is null) = (destroyed_at is not null))
);

-- Where the page of a session was seen: the addresses, sealed under the key of `key_day`, and their tags of that day. An
-- act may rest on the session of another agent, so the row is found by the session alone.
create table root_sessions (
  session_id text not null,
  -- The UTC day in which the session began.
  day date not null,
  key_day date not null,
  -- Side by side, one entry for each address: the tag of the address or /64, of the /24 or /48, and the factor of its kind.
  narrow_tags text[] not null,
  wide_tags text[] not null,
  factors int[] not null,
  sealed text not null,
  primary key (session_id, day)
) partition by range (day);

-- What is taken of a budget: spent or reserved. `spender` is an agent, or empty for all agents together. `hours` has the
-- count of each clock hour since 1970 as its subscript.
create table root_counters (
  day date not null,
  tag text collate "C" not null,
  spender text collate "C" not null,
  used int not null check (used >= 0),
  hours int[] not null,
  day_limit int not null,
  hour_limit int,
  primary key (day, tag, spender)
) partition by range (day);

-- Places that a session holds until `expires_at`. The arrays stand side by side: one entry for each counter and hour.
create table root_reservations (
  session_id text primary key,
  spender text not null,
  expires_at timestamptz not null,
  days date[] not null,
  tags text[] not null,
  spenders text[] not null,
  hours int[] not null,
  -- 1 where the entry holds a place of its day, 0 for a second hour of the same day.
  day_amounts int[] not null
);
create index on root_reservations (expires_at);

-- From a network to the credentials that rest on it, while the key of the day exists.
create table root_network_credentials (
  day date not null,
  wide_tag text collate "C" not null,
  narrow_tag text collate "C" not null,
  credential_id text not null,
  primary key (day, wide_tag, narrow_tag, credential_id)
) partition by range (day);

-- From an authenticator model, app, payout account or issuer to the credentials that rest on it.
create table root_credentials (
  kind text not null,
  name text not null,
  credential_id text not null,
  at timestamptz not null,
  primary key (kind, name, credential_id, at)
) partition by range (at);

-- Models, apps and issuers that no credential may rest on.
create table root_suspensions (
  kind text not null,
  name text not null,
  suspended_at timestamptz not null default pohf_now(),
  reason text not null,
  primary key (kind, name)
);

-- Sites with a budget of their own, so many times the usual one.
create table root_sites (
  agent_id text primary key,
  factor int not null check (factor between 1 and 1000),
  changed_at timestamptz not null default pohf_now()
);
call pohf_isolate('root_sites');

insert into platform_partitioned (table_name, keep_months, by_day) values
  ('root_counters', null, true), ('root_network_credentials', null, true),
  -- An act may rest on an attention check of 180 days, and a credential lives for 365 days at most.
  ('root_sessions', 7, false), ('root_credentials', 13, false);
call pohf_make_partitions('root_sessions', now() - interval '1 day', 4);
call pohf_make_days('root_counters', now() - interval '1 day', 9);
call pohf_make_days('root_network_credentials', now() - interval '1 day', 9);
call pohf_make_partitions('root_credentials', now() - interval '1 day', 4);

-- Counters and reservations change by the functions below and by nothing else.
revoke insert, update, delete on root_counters, root_reservations, root_network_credentials, root_credentials
  from pohf_app;

-- Takes places of one hour of a day: each entry names a counter with its limits. `of_day` is 0 where the place of the day is
-- taken already. Returns the counters that are above a limit now, by how many places, and whether the limit of the day is
-- the lower one. Every caller takes the counters in the same order, so two transactions never wait for each other in a circle.
create function roots_take(
  at_day date, at_hour int, of_day int, tags text[], spenders text[], hour_limits int[], day_limits int[]
) returns table (tag text, spender text, excess int, is_day boolean)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
begin
  return query
    with taken as (
      insert into root_counters as counter (day, tag, spender, used, hours, day_limit, hour_limit)
        select at_day, entry.tag, entry.spender, of_day * count(*)::int,
          array_fill(count(*)::int, array[1], array[at_hour]), min(entry.day_limit), min(entry.hour_limit)
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

-- Gives places of one hour of a day back. The caller has locked the counters. Those of days that were dropped are gone.
create function roots_give_back(at_day date, at_hour int, of_day int[], tags text[], spenders text[])
returns void language plpgsql security definer set search_path = public, pg_temp as $$
begin
  with entry as materialized (
    select at_day as day, given.tag, given.spender, sum(given.of_day)::int as used, count(*)::int as places
    from unnest(of_day, tags, spenders) given (of_day, tag, spender)
    group by given.tag, given.spender
  )
  update root_counters counter set used = counter.used - entry.used,
    hours[at_hour] = counter.hours[at_hour] - entry.places
  from entry
  where counter.day = entry.day and counter.tag = entry.tag and counter.spender = entry.spender;
end $$;

-- The same for entries of several hours.
create function roots_give_back_all(days date[], tags text[], spenders text[], hours int[], day_amounts int[])
returns void language plpgsql security definer set search_path = public, pg_temp as $$
declare touched record;
begin
  for touched in
    select entry.day, entry.hour, array_agg(entry.day_amount) as of_day, array_agg(entry.tag) as tags,
      array_agg(entry.spender) as spenders
    from unnest(days, tags, spenders, hours, day_amounts) entry (day, tag, spender, hour, day_amount)
    group by entry.day, entry.hour order by entry.hour
  loop
    perform roots_give_back(touched.day, touched.hour, touched.of_day, touched.tags, touched.spenders);
  end loop;
end $$;

-- The hour of a time, counted from 1970: the subscript in root_counters.hours. In UTC it depends on no setting, so PostgreSQL
-- puts it into the statement that calls it, in place of a call that takes 0.1 ms.
create function roots_hour(at timestamptz) returns int language sql immutable
as $$ select floor(extract(epoch from at at time zone 'UTC') / 3600)::int $$;

create function roots_day(at timestamptz) returns date language sql immutable
as $$ select (at at time zone 'UTC')::date $$;

-- Spends for many credentials of one time: each charge names the counters of its root with their limits. A credential counts
-- in the clock hour and UTC day of `minted`. Returns for each row: null without a charge; `reserved`, where a reservation of
-- its session holds the places; `spent`; `hour` or `day`, where a budget of that time is used up; `suspended`. Of rows that
-- want the last places, the first get them.
create function roots_spend(charges jsonb[], agents text[], minted timestamptz, wanted boolean[])
returns text[] language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare
  at_day date := roots_day(minted);
  at_hour int := roots_hour(minted);
  results text[];
  ns int[];
  tags text[];
  spenders text[];
  hour_limits int[];
  day_limits int[];
  over_keys text[];
  over_places int[];
  over_days boolean[];
  refused int[] := '{}';
  first int := 1;
  last int;
  at int;
  refusal text;
begin
  select array_agg(row.result order by row.n) into results from (
    select given.n, case when given.charge is null or not given.wanted then null
      when suspended.kind is not null then 'suspended'
      when held.session_id is not null then 'reserved' else 'spent' end as result
    from (
      select given.* from unnest(charges, agents, wanted) with ordinality given (charge, agent_id, wanted, n)
      order by given.charge ->> 'session' collate "C"
    ) given
    left join lateral (
      select held.session_id from root_reservations held where given.wanted
        and held.session_id = given.charge ->> 'session' and held.spender = given.agent_id and held.expires_at > minted
      limit 1 for update
    ) held on true
    left join lateral (
      select suspended.kind from root_suspensions suspended where suspended.kind = given.charge -> 'root' ->> 'kind'
        and suspended.name = given.charge -> 'root' ->> 'name'
      limit 1
    ) suspended on true
  ) row;

  -- A counter of all agents, and one of the agent where it has a limit.
  select array_agg(row.n), array_agg(row.tag), array_agg(row.spender), array_agg(row.hour_limit),
      array_agg(row.day_limit)
    into ns, tags, spenders, hour_limits, day_limits
    from (
      select given.n::int, counter.tag, side.spender, side.hour_limit, side.day_limit
      from unnest(charges, agents, results) with ordinality given (charge, agent_id, result, n)
      cross join lateral jsonb_to_recordset(given.charge -> 'counters')
        counter (tag text, hour int, day int, "agentHour" int, "agentDay" int, strong boolean)
      cross join lateral (values ('', counter.hour, counter.day),
        (given.agent_id, counter."agentHour", counter."agentDay")) side (spender, hour_limit, day_limit)
      where side.day_limit is not null
        -- The counters of a reserved row without a stronger root are not read at all.
        and (given.result = 'spent' or given.result = 'reserved' and given.charge ? 'root')
        and (given.result = 'spent' or counter.strong is not null)
      order by given.n
    ) row;
  if ns is null then return results; end if;

  select array_agg(over.tag || ' ' || over.spender),
      array_agg(greatest(0, (select count(*) from unnest(tags, spenders) entry (tag, spender)
        where entry.tag = over.tag and entry.spender = over.spender) - over.excess)),
      array_agg(over.is_day)
    into over_keys, over_places, over_days
    from roots_take(at_day, at_hour, 1, tags, spenders, hour_limits, day_limits) over;

  -- Row by row: a row that is refused for one counter takes no place of the others.
  while over_keys is not null and first <= cardinality(ns) loop
    last := first;
    while ns[last + 1] = ns[first] loop last := last + 1; end loop;
    refusal := null;
    for i in first .. last loop
      at := array_position(over_keys, tags[i] || ' ' || spenders[i]);
      if over_places[at] = 0 and refusal is distinct from 'day' then
        refusal := case when over_days[at] then 'day' else 'hour' end;
      end if;
    end loop;
    if refusal is not null then
      results[ns[first]] := refusal;
      refused := refused || ns[first];
    else
      for i in first .. last loop
        at := array_position(over_keys, tags[i] || ' ' || spenders[i]);
        if at is not null then over_places[at] := over_places[at] - 1; end if;
      end loop;
    end if;
    first := last + 1;
  end loop;
  if refused <> '{}' then
    perform roots_give_back(at_day, at_hour, array_agg(1), array_agg(entry.tag), array_agg(entry.spender))
      from unnest(ns, tags, spenders) entry (n, tag, spender)
      where entry.n = any (refused) having count(*) > 0;
  end if;
  return results;
end $$;

-- Completes the spends of a mint. A row that was not minted for another reason gives its places back; a reservation stays.
-- For a minted row, its reservation ends: it keeps the place of its hour, and those of another hour or day are given back.
create function roots_settle(charges jsonb[], agents text[], minted timestamptz, results text[], credential_ids text[],
  granted boolean[])
returns void language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare
  at_day date := roots_day(minted);
  at_hour int := roots_hour(minted);
begin
  if false = any (granted) then
    perform roots_give_back(at_day, at_hour, array_agg(1), array_agg(counter.tag),
        array_agg(side.spender))
      from unnest(charges, agents, results, granted) given (charge, agent_id, result, granted)
      cross join lateral jsonb_to_recordset(given.charge -> 'counters')
        counter (tag text, day int, "agentDay" int, strong boolean)
      cross join lateral (values ('', counter.day), (given.agent_id, counter."agentDay")) side (spender, day_limit)
      where not given.granted and side.day_limit is not null
        and (given.result = 'spent' or given.result = 'reserved' and counter.strong is not null)
      having count(*) > 0;
  end if;

  -- What a reservation holds in another hour or day is left to roots_release, which takes the counters in their order: here
  -- others are locked already.
  if 'reserved' = any (results) then
    with row as materialized (
      select given.charge ->> 'session' as session_id
      from unnest(charges, results, granted) given (charge, result, granted)
      where given.granted and given.result = 'reserved'
    ), ended as (
      delete from root_reservations held using row where held.session_id = row.session_id returning held.*
    )
    insert into root_reservations (session_id, spender, expires_at, days, tags, spenders, hours, day_amounts)
      select ended.session_id || ' rest', ended.spender, minted, rest.days, rest.tags, rest.spenders, rest.hours,
        rest.day_amounts
      from ended cross join lateral (
        select array_agg(entry.day) as days, array_agg(entry.tag) as tags, array_agg(entry.spender) as spenders,
          array_agg(entry.hour) as hours,
          -- The place of the credential's own day stays, whichever of its hours took it.
          array_agg(case when entry.day = at_day then 0 else entry.day_amount end) as day_amounts
        from unnest(ended.days, ended.tags, ended.spenders, ended.hours, ended.day_amounts)
          entry (day, tag, spender, hour, day_amount)
        where entry.hour <> at_hour
      ) rest
      where at_hour <> any (ended.hours);
  end if;

  insert into root_network_credentials (day, wide_tag, narrow_tag, credential_id)
    select at_day, network ->> 0, network ->> 1, given.credential_id
    from unnest(charges, credential_ids, granted) given (charge, credential_id, granted)
    cross join lateral jsonb_array_elements(given.charge -> 'networks') network
    where given.granted;
  insert into root_credentials (kind, name, credential_id, at)
    select given.charge -> 'root' ->> 'kind', given.charge -> 'root' ->> 'name', given.credential_id, minted
    from unnest(charges, credential_ids, granted) given (charge, credential_id, granted)
    where given.granted and given.charge ? 'root';
end $$;

-- Reserves places for a session until `until_at`, in every clock hour and UTC day that this time touches, or none.
-- `counters` has one list of counters for each day of `counter_days`. Returns whether the session holds its places.
create function roots_reserve(
  for_session text, for_agent text, from_at timestamptz, until_at timestamptz, counter_days date[], counters jsonb[]
) returns boolean language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare
  held root_reservations := row(for_session, for_agent, until_at, '{}', '{}', '{}', '{}', '{}');
  at_day date;
  of_day int;
  tags text[];
  spenders text[];
  hour_limits int[];
  day_limits int[];
begin
  if exists (select from root_reservations known where known.session_id = for_session) then return true; end if;
  for at_hour in roots_hour(from_at) .. roots_hour(until_at) loop
    at_day := roots_day(to_timestamp(at_hour * 3600::bigint));
    of_day := case when at_day = any (held.days) then 0 else 1 end;
    select array_agg(counter.tag), array_agg(side.spender), array_agg(side.hour_limit), array_agg(side.day_limit)
      into tags, spenders, hour_limits, day_limits
      from jsonb_to_recordset(counters[array_position(counter_days, at_day)])
        counter (tag text, hour int, day int, "agentHour" int, "agentDay" int)
      cross join lateral (values ('', counter.hour, counter.day), (for_agent, counter."agentHour", counter."agentDay"))
        side (spender, hour_limit, day_limit)
      where side.day_limit is not null;
    perform from roots_take(at_day, at_hour, of_day, tags, spenders, hour_limits, day_limits);
    held.days := held.days || array_fill(at_day, array[cardinality(tags)]);
    held.hours := held.hours || array_fill(at_hour, array[cardinality(tags)]);
    held.day_amounts := held.day_amounts || array_fill(of_day, array[cardinality(tags)]);
    held.tags := held.tags || tags;
    held.spenders := held.spenders || spenders;
    if found then
      perform roots_give_back_all(held.days, held.tags, held.spenders, held.hours, held.day_amounts);
      return false;
    end if;
  end loop;
  insert into root_reservations select held.*;
  return true;
end $$;

-- Ends reservations that are over, a batch at a time; returns how many. A mint holds a lock on the one that it uses.
create function roots_release() returns int language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare
  days date[];
  tags text[];
  spenders text[];
  hours int[];
  day_amounts int[];
  released int;
  locked int;
begin
  with due as materialized (
    select held.session_id from root_reservations held where held.expires_at <= pohf_now()
    order by held.expires_at limit 200 for update skip locked
  ), ended as (
    delete from root_reservations held using due where held.session_id = due.session_id
    returning held.days, held.tags, held.spenders, held.hours, held.day_amounts
  )
  select (select count(*) from ended), array_agg(entry.day), array_agg(entry.tag), array_agg(entry.spender),
      array_agg(entry.hour), array_agg(entry.day_amount)
    into released, days, tags, spenders, hours, day_amounts
    from ended cross join lateral unnest(ended.days, ended.tags, ended.spenders, ended.hours, ended.day_amounts)
      entry (day, tag, spender, hour, day_amount);
  -- All of them first and in the order of the mint: hour by hour, two counters of one day would be taken in either order.
  with entry as materialized (
    select distinct given.day, given.tag collate "C" as tag, given.spender collate "C" as spender
    from unnest(days, tags, spenders) given (day, tag, spender)
    order by 1, 2, 3
  )
  select count(*) into locked from entry
  cross join lateral (
    select from root_counters counter where counter.day = entry.day and counter.tag = entry.tag
      and counter.spender = entry.spender
    limit 1 for update
  ) held;
  perform roots_give_back_all(days, tags, spenders, hours, day_amounts);
  return released;
end $$;
-- Where the clock is set back, reservations end as if it had not been.
insert into platform_due_times values ('root_reservations', 'expires_at', default);
-- A micro-task takes over the reservation of the recording that it uses.
grant update (session_id) on root_reservations to pohf_app;

do $$
declare form text;
begin
  foreach form in array array[
    'roots_take(date, int, int, text[], text[], int[], int[])',
    'roots_give_back(date, int, int[], text[], text[])',
    'roots_give_back_all(date[], text[], text[], int[], int[])',
    'roots_spend(jsonb[], text[], timestamptz, boolean[])',
    'roots_settle(jsonb[], text[], timestamptz, text[], text[], boolean[])',
    'roots_reserve(text, text, timestamptz, timestamptz, date[], jsonb[])',
    'roots_release()'] loop
    execute format('revoke execute on function %s from public', form);
  end loop;
end $$;
grant execute on function roots_spend(jsonb[], text[], timestamptz, boolean[]),
  roots_settle(jsonb[], text[], timestamptz, text[], text[], boolean[]) to pohf_mint;
grant execute on function roots_reserve(text, text, timestamptz, timestamptz, date[], jsonb[]), roots_release()
  to pohf_app;
