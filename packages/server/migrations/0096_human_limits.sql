-- A credential rests on up to four roots, each of which may be suspended from a date on. An agent may limit the acts of each human:
-- such a limit is counted at the mint alone, on every root that counts humans.

create or replace function roots_take(at_day date, at_hour integer, of_day integer, tags text[], spenders text[], hour_limits integer[],
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

create or replace function roots_spend(charges jsonb[], agents text[], minted timestamptz, wanted boolean[]) returns text[]
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

create or replace function roots_settle(charges jsonb[], agents text[], minted timestamptz, results text[], credential_ids text[],
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
