-- The tables, types and functions of `roots` after all migrations, to be read and not run. Written by npm run generate from the
-- catalogue of a database; do not edit. Left out are names that PostgreSQL chose, the types of constants, and the role that
-- migrates. A table has row-level security where a line below it says so. Every role may execute a function, unless a line
-- above it says which may.

create table root_counters (
  day date not null,
  tag text collate "C" not null,
  spender text collate "C" not null,
  used integer not null check (used >= 0),
  hours integer[] not null,
  day_limit integer not null,
  hour_limit integer,
  primary key (day, tag, spender)
) partition by range (day);
-- partitions by day
-- pohf_app may select

create table root_credentials (
  kind text not null,
  name text not null,
  credential_id text not null,
  at timestamptz not null,
  primary key (kind, name, credential_id, at)
) partition by range (at);
-- partitions by month, dropped after 13 months
-- pohf_app may select

create table root_keys (
  day date not null,
  sealed text,
  destroyed_at timestamptz,
  primary key (day),
  check ((sealed is null) = (destroyed_at is not null))
);
-- pohf_app may select, insert, update, delete

create table root_losses (
  hour integer not null,
  credentials integer not null check (credentials > 0),
  primary key (hour)
);
-- pohf_app may select, insert, update

create table root_network_credentials (
  day date not null,
  wide_tag text collate "C" not null,
  narrow_tag text collate "C" not null,
  credential_id text not null,
  primary key (day, wide_tag, narrow_tag, credential_id)
) partition by range (day);
-- partitions by day
-- pohf_app may select

create table root_reservations (
  session_id text not null,
  spender text not null,
  expires_at timestamptz not null,
  days date[] not null,
  tags text[] not null,
  spenders text[] not null,
  hours integer[] not null,
  day_amounts integer[] not null,
  root text collate "C" not null default '',
  primary key (session_id, root)
);
create index root_reservations_expires_at_idx on root_reservations (expires_at);
-- pohf_app may select, update (session_id)

create table root_sessions (
  session_id text not null,
  day date not null,
  key_day date not null,
  narrow_tags text[] not null,
  wide_tags text[] not null,
  factors integer[] not null,
  sealed text not null,
  primary key (session_id, day)
) partition by range (day);
-- partitions by month, dropped after 7 months
-- pohf_app may select, insert, update, delete

create table root_sites (
  agent_id text not null,
  factor integer not null check (factor between 1 and 1000),
  changed_at timestamptz not null default pohf_now(),
  primary key (agent_id)
);
-- row-level security by agent_id
-- pohf_app may select, insert, update, delete

create table root_suspensions (
  kind text not null,
  name text not null,
  suspended_at timestamptz not null default pohf_now(),
  reason text not null,
  from_at timestamptz,
  primary key (kind, name)
);
-- pohf_app may select, insert, update, delete

create function roots_day(at timestamptz) returns date language sql immutable as $$ select (at at time zone 'UTC')::date $$;

-- only its owner may execute it
create function roots_give_back(at_day date, at_hour integer, of_day integer[], tags text[], spenders text[]) returns void
  language plpgsql security definer set search_path to 'public', 'pg_temp' as $$
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

-- only its owner may execute it
create function roots_give_back_all(days date[], tags text[], spenders text[], hours integer[], day_amounts integer[])
  returns void language plpgsql security definer set search_path to 'public', 'pg_temp' as $$
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

create function roots_hour(at timestamptz) returns integer language sql immutable as $$ select floor(extract(epoch from at at time zone 'UTC') / 3600)::int $$;

-- pohf_app may execute it
create function roots_release() returns integer language plpgsql security definer set search_path to 'public', 'pg_temp' as $$
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

-- pohf_app may execute it
create function roots_reserve(for_session text, for_root text, for_agent text, from_at timestamptz, until_at timestamptz,
  counter_days date[], counters jsonb[]) returns table(held_until timestamptz, opens_at timestamptz) language plpgsql
  security definer set search_path to 'public', 'pg_temp' as $$
#variable_conflict use_column
declare
  held root_reservations;
  at_day date;
  of_day int;
  entry_tags text[];
  entry_spenders text[];
  hour_limits int[];
  day_limits int[];
  is_day boolean;
begin
  -- The row comes first: of two calls for one session, the second waits here and finds what the first holds.
  loop
    insert into root_reservations as mine (session_id, root, spender, expires_at, days, tags, spenders, hours, day_amounts)
      values (for_session, for_root, for_agent, until_at, '{}', '{}', '{}', '{}', '{}')
      on conflict (session_id, root) do nothing returning mine.* into held;
    exit when found;
    select known.* into held from root_reservations known
      where known.session_id = for_session and known.root = for_root for update;
    if held.expires_at > from_at then
      return query select held.expires_at, null::timestamptz;
      return;
    end if;
    -- The places of a reservation that is over are left to roots_release, which takes the counters in their order.
    update root_reservations over set session_id = for_session || ' over ' || extract(epoch from held.expires_at)
      where over.session_id = for_session and over.root = for_root;
  end loop;
  for at_hour in roots_hour(from_at) .. roots_hour(until_at) loop
    at_day := roots_day(to_timestamp(at_hour * 3600::bigint));
    of_day := case when at_day = any (held.days) then 0 else 1 end;
    select array_agg(counter.tag), array_agg(side.spender), array_agg(side.hour_limit), array_agg(side.day_limit)
      into entry_tags, entry_spenders, hour_limits, day_limits
      from jsonb_to_recordset(counters[array_position(counter_days, at_day)])
        counter (tag text, hour int, day int, "agentHour" int, "agentDay" int)
      cross join lateral (values ('', counter.hour, counter.day), (for_agent, counter."agentHour", counter."agentDay"))
        side (spender, hour_limit, day_limit)
      where side.day_limit is not null;
    select bool_or(over.is_day) into is_day
      from roots_take(at_day, at_hour, of_day, entry_tags, entry_spenders, hour_limits, day_limits) over;
    held.days := held.days || array_fill(at_day, array[cardinality(entry_tags)]);
    held.hours := held.hours || array_fill(at_hour, array[cardinality(entry_tags)]);
    held.day_amounts := held.day_amounts || array_fill(of_day, array[cardinality(entry_tags)]);
    held.tags := held.tags || entry_tags;
    held.spenders := held.spenders || entry_spenders;
    if is_day is not null then
      perform roots_give_back_all(held.days, held.tags, held.spenders, held.hours, held.day_amounts);
      delete from root_reservations mine where mine.session_id = for_session and mine.root = for_root;
      return query select null::timestamptz, case when is_day then (at_day + 1)::timestamp at time zone 'UTC'
        else to_timestamp((at_hour + 1) * 3600::bigint) end;
      return;
    end if;
  end loop;
  update root_reservations mine set days = held.days, tags = held.tags, spenders = held.spenders, hours = held.hours,
      day_amounts = held.day_amounts
    where mine.session_id = for_session and mine.root = for_root;
  return query select held.expires_at, null::timestamptz;
end $$;

-- pohf_mint may execute it
create function roots_settle(charges jsonb[], agents text[], minted timestamptz, results text[], credential_ids text[],
  granted boolean[]) returns void language plpgsql security definer set search_path to 'public', 'pg_temp' as $$
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
        counter (tag text, day int, "agentDay" int, strong boolean, "limit" boolean)
      cross join lateral (values ('', counter.day), (given.agent_id, counter."agentDay")) side (spender, day_limit)
      where not given.granted and side.day_limit is not null
        and (given.result = 'spent' or given.result = 'reserved' and (counter."limit" is not null
          or counter.strong is not null and not exists (
            select from root_reservations held where held.session_id = given.charge ->> 'session'
              and held.root = given.charge ->> 'ref' and held.spender = given.agent_id
              and held.expires_at > minted)))
      having count(*) > 0;
  end if;

  -- What a reservation holds in another hour or day is left to roots_release, which takes the counters in their order: here
  -- others are locked already.
  if exists (
    select from unnest(charges, results, granted) given (charge, result, granted)
    where given.granted and (given.result = 'reserved' or given.charge ? 'ref')
  ) then
    with row as materialized (
      select given.charge ->> 'session' as session_id, given.agent_id, given.result,
        given.charge ->> 'ref' as root
      from unnest(charges, agents, results, granted) given (charge, agent_id, result, granted)
      where given.granted and (given.result = 'reserved' or given.charge ? 'ref')
    ), ended as (
      delete from root_reservations held using row
      where held.session_id = row.session_id and held.spender = row.agent_id
      -- The one that roots_spend found: that of the stronger root, or else that of the network.
      returning held.*, row.result = 'reserved' and held.expires_at > minted
        and (held.root = coalesce(row.root, '') or held.root = '' and not exists (
          select from root_reservations strong where strong.session_id = row.session_id and strong.root = row.root
            and strong.spender = row.agent_id and strong.expires_at > minted)) as is_used
    )
    insert into root_reservations (session_id, root, spender, expires_at, days, tags, spenders, hours, day_amounts)
      select ended.session_id || ' rest', ended.root, ended.spender, minted, rest.days, rest.tags, rest.spenders,
        rest.hours, rest.day_amounts
      from ended cross join lateral (
        select array_agg(entry.day) as days, array_agg(entry.tag) as tags, array_agg(entry.spender) as spenders,
          array_agg(entry.hour) as hours,
          -- The place of the credential's own day stays, whichever of its hours took it.
          array_agg(case when ended.is_used and entry.day = at_day then 0 else entry.day_amount end) as day_amounts
        from unnest(ended.days, ended.tags, ended.spenders, ended.hours, ended.day_amounts)
          entry (day, tag, spender, hour, day_amount)
        where not ended.is_used or entry.hour <> at_hour
      ) rest
      -- Most reservations are of one hour, that of the credential, and leave nothing.
      where (not ended.is_used or at_hour <> any (ended.hours)) and rest.days is not null;
  end if;

  insert into root_network_credentials (day, wide_tag, narrow_tag, credential_id)
    select at_day, network ->> 0, network ->> 1, given.credential_id
    from unnest(charges, credential_ids, granted) given (charge, credential_id, granted)
    cross join lateral jsonb_array_elements(given.charge -> 'networks') network
    where given.granted;
  insert into root_credentials (kind, name, credential_id, at)
    select distinct shown.kind, shown.name, given.credential_id, minted
    from unnest(charges, credential_ids, granted) given (charge, credential_id, granted)
    cross join lateral jsonb_to_recordset(given.charge -> 'roots') shown (kind text, name text)
    where given.granted and given.charge ? 'ref';
end $$;

-- pohf_mint may execute it
create function roots_spend(charges jsonb[], agents text[], minted timestamptz, wanted boolean[]) returns text[]
  language plpgsql security definer set search_path to 'public', 'pg_temp' as $$
#variable_conflict use_column
declare
  at_day date := roots_day(minted);
  at_hour int := roots_hour(minted);
  results text[];
  held_roots text[];
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
  select array_agg(row.result order by row.n), array_agg(row.held_root order by row.n) into results, held_roots from (
    select given.n, held.root as held_root, case when given.charge is null or not given.wanted then null
      when suspended.kind is not null then 'suspended'
      when held.root is not null then 'reserved' else 'spent' end as result
    from (
      select given.* from unnest(charges, agents, wanted) with ordinality given (charge, agent_id, wanted, n)
      order by given.charge ->> 'session' collate "C"
    ) given
    left join lateral (
      -- All reservations of the session are locked here, before any counter, because all of them end with the mint.
      select max(locked.root) filter (where locked.root in ('', given.charge ->> 'ref')
        and locked.spender = given.agent_id and locked.expires_at > minted) as root
      from (
        select held.root, held.spender, held.expires_at from root_reservations held
        where given.wanted and held.session_id = given.charge ->> 'session' for update
      ) locked
    ) held on true
    left join lateral (
      -- What was checked before the suspension began goes on to count.
      select found.kind from jsonb_to_recordset(given.charge -> 'roots') shown (kind text, name text, at timestamptz)
      cross join lateral (
        select suspended.kind from root_suspensions suspended where suspended.kind = shown.kind
          and suspended.name = shown.name and coalesce(suspended.from_at, '-infinity') <= shown.at
        limit 1
      ) found
      limit 1
    ) suspended on true
  ) row;

  -- A counter of all agents, and one of the agent where it has a limit.
  select array_agg(row.n), array_agg(row.tag), array_agg(row.spender), array_agg(row.hour_limit),
      array_agg(row.day_limit)
    into ns, tags, spenders, hour_limits, day_limits
    from (
      select given.n::int, counter.tag, side.spender, side.hour_limit, side.day_limit
      from unnest(charges, agents, results, held_roots) with ordinality given (charge, agent_id, result, held_root, n)
      cross join lateral jsonb_to_recordset(given.charge -> 'counters')
        counter (tag text, hour int, day int, "agentHour" int, "agentDay" int, strong boolean, "limit" boolean)
      cross join lateral (values ('', counter.hour, counter.day),
        (given.agent_id, counter."agentHour", counter."agentDay")) side (spender, hour_limit, day_limit)
      where side.day_limit is not null
        -- A reservation holds places of networks, and of the roots that it names, but none of a limit for each human.
        and (given.result = 'spent' or given.result = 'reserved' and (counter."limit" is not null
          or counter.strong is not null and given.charge ? 'ref' and given.held_root = ''))
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
        refusal := case when tags[i] like 'human.%' then 'limit' when over_days[at] then 'day' else 'hour' end;
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

-- only its owner may execute it
create function roots_take(at_day date, at_hour integer, of_day integer, tags text[], spenders text[], hour_limits integer[],
  day_limits integer[]) returns table(tag text, spender text, excess integer, is_day boolean) language plpgsql security definer
  set search_path to 'public', 'pg_temp' as $$
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
          -- How many acts of one human a restore lost is not known: all that are allowed.
          case when entry.tag like 'human.%' then case when day_lost > 0 then 0 else min(entry.day_limit) end
            else min(entry.day_limit) - least(day_lost, min(entry.day_limit) / 2)::int end,
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

-- pohf_app may execute it
create function roots_take_place(at timestamptz, of_tag text, places integer) returns boolean language plpgsql security definer
  set search_path to 'public', 'pg_temp' as $$
declare at_hour int := roots_hour(at);
begin
  if places < 1 then return false; end if;
  insert into root_counters as counter (day, tag, spender, used, hours, day_limit)
    values (roots_day(at), of_tag, '', 1, array_fill(1, array[1], array[at_hour]), places)
    on conflict (day, tag, spender) do update set used = counter.used + 1,
      hours[at_hour] = coalesce(counter.hours[at_hour], 0) + 1, day_limit = excluded.day_limit
    where counter.used < excluded.day_limit;
  return found;
end $$;
