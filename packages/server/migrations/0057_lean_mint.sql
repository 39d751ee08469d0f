-- The mint writes the same rows with fewer look-ups, sorts and calls of trigger functions.

-- As before, with one search for each ledger in place of one for each account, and one look at its drift.
create or replace function ledger_hold(agents text[], modes text[], accounts text[], for_unit text)
returns table (agent_id text, mode text, account text, balance bigint, stopped boolean)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
begin
  return query
    select book.agent_id, book.mode, present.account, present.balance, book.stopped
    from (
      select given.agent_id, given.mode, (select true from ledger_drift drift where drift.agent_id = given.agent_id
        and drift.mode = given.mode and drift.cleared_at is null limit 1) is not null as stopped
      from unnest(agents, modes) given (agent_id, mode)
      order by given.agent_id collate "C", given.mode collate "C"
    ) book
    cross join lateral (
      select held.account, held.balance from ledger_accounts held where held.agent_id = book.agent_id
        and held.mode = book.mode and held.account = any (accounts) and held.unit = for_unit
      order by held.account collate "C" limit 50 for update
    ) present;
end $$;

-- As before, in fewer steps. Only an account that takes, or one of the outside world, can be missing: an account that gives
-- has a row. Were it missing, `balances` would be shorter than the list of accounts, the last of the lines would have no
-- balance, and the constraint of the column would refuse everything.
create or replace function ledger_post_moves(
  entry_kind text, for_unit text, agents text[], modes text[], refs text[], entry_ids text[],
  givers text[], takers text[], amounts bigint[]
) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
declare posted_at timestamptz := pohf_now();
begin
  insert into ledger_accounts (agent_id, mode, account, unit)
    select distinct wanted.agent_id, wanted.mode, wanted.account, for_unit
    from (
      select move.agent_id, move.mode, move.taker as account
        from unnest(agents, modes, takers) move (agent_id, mode, taker)
      union all
      select move.agent_id, move.mode, move.giver
        from unnest(agents, modes, givers) move (agent_id, mode, giver) where move.giver like 'world:%'
    ) wanted
    left join lateral (
      select true as known from ledger_accounts held where held.agent_id = wanted.agent_id
        and held.mode = wanted.mode and held.account = wanted.account and held.unit = for_unit
      limit 1
    ) present on true
    where present.known is null
    order by 1, 2, 3
    on conflict do nothing;
  insert into ledger_claims (agent_id, mode, kind, reference, entry_id, at)
    select move.agent_id, move.mode, entry_kind, move.reference, move.entry_id, posted_at
    from unnest(agents, modes, refs, entry_ids) move (agent_id, mode, reference, entry_id);
  insert into ledger_entries (agent_id, entry_id, at, mode, kind, reference)
    select move.agent_id, move.entry_id, posted_at, move.mode, entry_kind, move.reference
    from unnest(agents, modes, refs, entry_ids) move (agent_id, mode, reference, entry_id);
  with line as materialized (
    -- Counted from the end, because the accounts are known as they are after the last line.
    select move.agent_id, move.mode, move.entry_id, side.account, side.amount,
      dense_rank() over (order by move.agent_id, move.mode, side.account) as place,
      row_number() over same_account - 1 as lines_after,
      sum(side.amount) over same_account - side.amount as amount_after
    from unnest(agents, modes, entry_ids, givers, takers, amounts) with ordinality
      move (agent_id, mode, entry_id, giver, taker, amount, n)
    cross join lateral (values (move.giver, -move.amount), (move.taker, move.amount)) side (account, amount)
    window same_account as (partition by move.agent_id, move.mode, side.account order by move.n desc)
  ), total as materialized (
    -- The unit stands in the list too: as a constant it made the planner read every account of this unit.
    select line.place, line.agent_id, line.mode, line.account, for_unit as unit, sum(line.amount)::bigint as amount,
      count(*) as lines
    from line group by line.place, line.agent_id, line.mode, line.account
  ), moved as (
    update ledger_accounts held set balance = held.balance + total.amount, line_count = held.line_count + total.lines
    from total where held.agent_id = total.agent_id and held.mode = total.mode
      and held.account = total.account and held.unit = total.unit
    returning total.place, held.balance, held.line_count
  ), written as (
    select array_agg(moved.balance order by moved.place) as balances,
      array_agg(moved.line_count order by moved.place) as line_counts
    from moved
  )
  insert into ledger_lines (agent_id, mode, account, unit, line_number, at, entry_id, amount, balance_after)
    select line.agent_id, line.mode, line.account, for_unit, written.line_counts[line.place] - line.lines_after, posted_at,
      line.entry_id, line.amount, written.balances[line.place] - line.amount_after
    from written cross join line;
end $$;

-- The first state of a credential is `issued`, and its number says that it is the first: the function had nothing to compare.
drop trigger transition on credential_states;
create trigger transition before insert on credential_states
  for each row when (new.seq <> 1 or new.state <> 'issued') execute function credential_states_transition();

-- Nor for a session that the mint seals.
drop trigger transition on sessions;
create trigger transition before update on sessions
  for each row when ((old.status, new.status) is distinct from ('scored', 'sealed')
    or (old.quality, old.verified) is distinct from (new.quality, new.verified))
  execute function sessions_transition();

-- As before, without sorting the reservations that end. A row that was not minted for another reason gives its places back; a
-- reservation stays. For a minted row, the reservations of its session end: of the one that it used it keeps the place of its hour, and all
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
    select given.charge -> 'root' ->> 'kind', given.charge -> 'root' ->> 'name', given.credential_id, minted
    from unnest(charges, credential_ids, granted) given (charge, credential_id, granted)
    where given.granted and given.charge ? 'root';
end $$;
