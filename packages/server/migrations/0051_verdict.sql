-- A session holds places of each root that its credential may rest on: those of its network, and after a step-up those of its
-- stronger root as well. The mint uses one reservation and ends all of them.

-- The reference of the stronger root; empty for the network alone.
alter table root_reservations add column root text collate "C" not null default '';
alter table root_reservations drop constraint root_reservations_pkey, add primary key (session_id, root);

-- Spends for many credentials of one time: each charge names the counters of its root with their limits. A credential counts
-- in the clock hour and UTC day of `minted`. Returns for each row: null without a charge; `reserved`, where a reservation of
-- its session holds the places: that of its stronger root all of them, that of the network alone those of the network; `spent`;
-- `hour` or `day`, where a budget of that time is used up; `suspended`. Of rows that want the last places, the first get them.
create or replace function roots_spend(charges jsonb[], agents text[], minted timestamptz, wanted boolean[])
returns text[] language plpgsql security definer set search_path = public, pg_temp as $$
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
      select max(locked.root) filter (where locked.root in ('', given.charge -> 'root' ->> 'ref')
        and locked.spender = given.agent_id and locked.expires_at > minted) as root
      from (
        select held.root, held.spender, held.expires_at from root_reservations held
        where given.wanted and held.session_id = given.charge ->> 'session' for update
      ) locked
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
      from unnest(charges, agents, results, held_roots) with ordinality given (charge, agent_id, result, held_root, n)
      cross join lateral jsonb_to_recordset(given.charge -> 'counters')
        counter (tag text, hour int, day int, "agentHour" int, "agentDay" int, strong boolean)
      cross join lateral (values ('', counter.hour, counter.day),
        (given.agent_id, counter."agentHour", counter."agentDay")) side (spender, hour_limit, day_limit)
      where side.day_limit is not null
        -- The counters of a row whose reservation holds all places are not read at all.
        and (given.result = 'spent' or given.result = 'reserved' and given.charge ? 'root' and given.held_root = '')
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
-- For a minted row, the reservations of its session end: of the one that it used it keeps the place of its hour, and all
-- other places are given back.
create or replace function roots_settle(charges jsonb[], agents text[], minted timestamptz, results text[], credential_ids text[],
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
        and (given.result = 'spent' or given.result = 'reserved' and counter.strong is not null and not exists (
          select from root_reservations held where held.session_id = given.charge ->> 'session'
            and held.root = given.charge -> 'root' ->> 'ref' and held.spender = given.agent_id
            and held.expires_at > minted))
      having count(*) > 0;
  end if;

  -- What a reservation holds in another hour or day is left to roots_release, which takes the counters in their order: here
  -- others are locked already.
  if exists (
    select from unnest(charges, results, granted) given (charge, result, granted)
    where given.granted and (given.result = 'reserved' or given.charge ? 'root')
  ) then
    with row as materialized (
      select given.charge ->> 'session' as session_id, given.agent_id, given.result,
        given.charge -> 'root' ->> 'ref' as root
      from unnest(charges, agents, results, granted) given (charge, agent_id, result, granted)
      where given.granted and (given.result = 'reserved' or given.charge ? 'root')
    ), ended as (
      delete from root_reservations held using row
      where held.session_id = row.session_id and held.spender = row.agent_id
      returning held.*, row.result,
        held.root in ('', row.root) and held.expires_at > minted as is_usable
    ), ranked as (
      -- The one that roots_spend found: that of the stronger root, or else that of the network.
      select ended.*, ended.result = 'reserved' and ended.is_usable is true and row_number() over (
        partition by ended.session_id order by ended.is_usable is true desc, ended.root desc) = 1 as is_used
      from ended
    )
    insert into root_reservations (session_id, root, spender, expires_at, days, tags, spenders, hours, day_amounts)
      select ranked.session_id || ' rest', ranked.root, ranked.spender, minted, rest.days, rest.tags, rest.spenders,
        rest.hours, rest.day_amounts
      from ranked cross join lateral (
        select array_agg(entry.day) as days, array_agg(entry.tag) as tags, array_agg(entry.spender) as spenders,
          array_agg(entry.hour) as hours,
          -- The place of the credential's own day stays, whichever of its hours took it.
          array_agg(case when ranked.is_used and entry.day = at_day then 0 else entry.day_amount end) as day_amounts
        from unnest(ranked.days, ranked.tags, ranked.spenders, ranked.hours, ranked.day_amounts)
          entry (day, tag, spender, hour, day_amount)
        where not ranked.is_used or entry.hour <> at_hour
      ) rest
      where rest.days is not null;
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
-- `counters` has one list of counters for each day of `counter_days`. Returns until when the session holds its places, which is
-- earlier where it holds them already; or when the budget that is used up opens.
create function roots_reserve(
  for_session text, for_root text, for_agent text, from_at timestamptz, until_at timestamptz, counter_days date[],
  counters jsonb[]
) returns table (held_until timestamptz, opens_at timestamptz)
language plpgsql security definer set search_path = public, pg_temp as $$
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
revoke execute on function roots_reserve(text, text, text, timestamptz, timestamptz, date[], jsonb[]) from public;
grant execute on function roots_reserve(text, text, text, timestamptz, timestamptz, date[], jsonb[]) to pohf_app;

-- For the version before.
create or replace function roots_reserve(
  for_session text, for_agent text, from_at timestamptz, until_at timestamptz, counter_days date[], counters jsonb[]
) returns boolean language sql security definer set search_path = public, pg_temp as $$
  select result.held_until is not null
  from roots_reserve(for_session, '', for_agent, from_at, until_at, counter_days, counters) result
$$;
