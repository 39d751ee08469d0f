-- The role that mints: it may do what one mint does, for whichever agent a batch names, and nothing else. Nobody logs
-- in as it; it owns one function.
do $$
declare may_set boolean;
begin
  if not exists (select from pg_roles where rolname = 'pohf_mint') then
    begin
      create role pohf_mint nologin;
    exception when duplicate_object or unique_violation then null;
    end;
  end if;
  if current_setting('server_version_num')::int >= 160000 then
    execute 'select pg_has_role(current_user, ''pohf_mint'', ''set'')' into may_set;
  else
    may_set := pg_has_role(current_user, 'pohf_mint', 'member');
  end if;
  if not may_set then execute format('grant pohf_mint to %I', current_user); end if;
end $$;
grant usage on schema public to pohf_mint;
grant select, insert, update on credential_claims to pohf_mint;
grant insert on credentials to pohf_mint;
grant select, insert on credential_states to pohf_mint;
grant select on session_claims to pohf_mint;
grant select (agent_id, session_id, at, mode, status, quality, verified, credential_id),
  update (status, credential_id) on sessions to pohf_mint;
grant insert on events, outbox to pohf_mint;
create policy mint on credential_claims to pohf_mint using (true);
create policy mint on credentials to pohf_mint using (true);
create policy mint on credential_states to pohf_mint using (true);
create policy mint on session_claims to pohf_mint using (true);
create policy mint on sessions to pohf_mint using (true);
create policy mint on events for insert to pohf_mint with check (true);
create policy mint on outbox for insert to pohf_mint with check (true);

-- Whether it was paid for out of the agent's allowance: then the ledger has its debit.
alter table credentials add column charged boolean not null default false;

-- A busy account is written many times a second: room in its page keeps each of these writes off the index.
alter table ledger_accounts set (fillfactor = 60);

-- The outbox's own way to publish: events and what is to be done about them, both or neither.
create function outbox_publish(
  agents text[], modes text[], types text[], subjects text[], data jsonb[], event_ids text[], api_version text
) returns void language plpgsql set search_path = public, pg_temp as $$
declare
  published_at timestamptz := pohf_now();
  stamp text := to_char(published_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
begin
  insert into events (agent_id, event_id, at, mode, type, subject, data)
    select event.agent_id, event.event_id, published_at, event.mode, event.type, event.subject, event.data
    from unnest(agents, modes, types, subjects, data, event_ids)
      event (agent_id, mode, type, subject, data, event_id);
  insert into outbox (agent_id, outbox_id, topic, payload)
    select event.agent_id, event.event_id, 'event', jsonb_build_object('subject', event.subject, 'envelope',
      jsonb_build_object('id', event.event_id, 'type', event.type, 'timestamp', stamp,
        'test', event.mode = 'test', 'apiVersion', api_version, 'agentId', event.agent_id, 'data', event.data))
    from unnest(agents, modes, types, subjects, data, event_ids)
      event (agent_id, mode, type, subject, data, event_id);
end $$;

-- Locks the named accounts of several books, in the order in which everyone does, and tells what they hold and
-- whether the book may not move for now, because it does not add up. An account that was never used has no row: it
-- holds nothing and needs no lock. As everything here, it works under the tenant `system`, which the mint sets.
create function ledger_hold(agents text[], modes text[], accounts text[], for_unit text)
returns table (agent_id text, mode text, account text, balance bigint, stopped boolean)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
begin
  return query
    select held.agent_id, held.mode, held.account, held.balance,
      exists (select from ledger_drift drift where drift.agent_id = held.agent_id and drift.mode = held.mode
        and drift.cleared_at is null)
    from unnest(agents, modes) book (agent_id, mode) cross join unnest(accounts) named (account)
    join ledger_accounts held on held.agent_id = book.agent_id and held.mode = book.mode
      and held.account = named.account and held.unit = for_unit
    order by held.agent_id collate "C", held.mode collate "C", held.account collate "C"
    for update of held;
end $$;

-- The posting of ledger_post for many entries at once: each moves an amount from one account to another. Every
-- account is written once, however many entries name it; its lines are numbered and summed within the statement.
-- The accounts that give were locked by ledger_hold. An error undoes all: the constraints hold as for one entry.
create function ledger_post_moves(
  entry_kind text, for_unit text, agents text[], modes text[], refs text[], entry_ids text[],
  givers text[], takers text[], amounts bigint[]
) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
declare posted_at timestamptz := pohf_now();
begin
  insert into ledger_accounts (agent_id, mode, account, unit)
    select distinct wanted.agent_id, wanted.mode, wanted.account, for_unit
    from (
      select move.agent_id, move.mode, side.account from unnest(agents, modes, givers, takers)
        move (agent_id, mode, giver, taker) cross join lateral (values (move.giver), (move.taker)) side (account)
    ) wanted
    where not exists (select from ledger_accounts held where held.agent_id = wanted.agent_id
      and held.mode = wanted.mode and held.account = wanted.account and held.unit = for_unit)
    order by 1, 2, 3
    on conflict do nothing;
  insert into ledger_claims (agent_id, mode, kind, reference, entry_id, at)
    select move.agent_id, move.mode, entry_kind, move.reference, move.entry_id, posted_at
    from unnest(agents, modes, refs, entry_ids) move (agent_id, mode, reference, entry_id);
  insert into ledger_entries (agent_id, entry_id, at, mode, kind, reference)
    select move.agent_id, move.entry_id, posted_at, move.mode, entry_kind, move.reference
    from unnest(agents, modes, refs, entry_ids) move (agent_id, mode, reference, entry_id);
  with line as (
    select move.agent_id, move.mode, move.entry_id, side.account, side.amount,
      row_number() over same_account as place, sum(side.amount) over same_account as running
    from unnest(agents, modes, entry_ids, givers, takers, amounts) with ordinality
      move (agent_id, mode, entry_id, giver, taker, amount, n)
    cross join lateral (values (move.giver, -move.amount), (move.taker, move.amount)) side (account, amount)
    window same_account as (partition by move.agent_id, move.mode, side.account order by move.n)
  ), total as (
    select line.agent_id, line.mode, line.account, sum(line.amount)::bigint as amount, count(*) as lines
    from line group by line.agent_id, line.mode, line.account
  ), moved as (
    update ledger_accounts held set balance = held.balance + total.amount, line_count = held.line_count + total.lines
    from total where held.agent_id = total.agent_id and held.mode = total.mode
      and held.account = total.account and held.unit = for_unit
    returning held.agent_id, held.mode, held.account, held.balance - total.amount as balance,
      held.line_count - total.lines as line_count
  ), written as (
    -- Lines and the state before them, side by side: a join of two short lists by nested loops would be quadratic.
    select both_kinds.*, max(balance) over same_account as balance_before,
      max(line_count) over same_account as lines_before
    from (
      select agent_id, mode, account, entry_id, amount, place, running, null::bigint as balance, null::bigint as line_count
        from line
      union all
      select agent_id, mode, account, null, null, null, null, balance, line_count from moved
    ) both_kinds
    window same_account as (partition by agent_id, mode, account)
  )
  insert into ledger_lines (agent_id, mode, account, unit, line_number, at, entry_id, amount, balance_after)
    select agent_id, mode, account, for_unit, lines_before + place, posted_at, entry_id, amount,
      balance_before + running
    from written where entry_id is not null;
end $$;

-- What each agent of a batch may spend, locked until the end of the transaction. `remaining` counts free seals and
-- credits together; in the sandbox it has no end.
create function credits_hold(agents text[], modes text[])
returns table (agent_id text, mode text, free bigint, remaining bigint, owes boolean, stopped boolean)
language plpgsql set search_path = public, pg_temp as $$
#variable_conflict use_column
declare free_account text := 'free:' || to_char(pohf_now() at time zone 'UTC', 'YYYY-MM');
begin
  return query
    select agent_id, mode, coalesce(sum(balance) filter (where account = free_account), 0)::bigint,
      case mode when 'test' then 9007199254740991
        else coalesce(sum(balance) filter (where account in ('credits', free_account)), 0)::bigint end,
      coalesce(bool_or(balance < 0) filter (where account = 'owed:credits'), false), coalesce(bool_or(stopped), false)
    from (
      select agent_id, mode, account, balance, stopped from ledger_hold(agents, modes,
        array['credits', free_account, 'owed:credits', 'world:sandbox'], 'credit')
      union all
      select agent_id, mode, null, null, null from unnest(agents, modes) book (agent_id, mode)
    ) held
    group by agent_id, mode;
end $$;

-- Pays for many verifications, each once: a free seal of this month first, then a credit. Whoever comes down to ten
-- or to nothing hears of it. `remaining` is what is left after the row; `notice_ids` are for the events, if any.
create function credits_spend(
  agents text[], modes text[], refs text[], entry_ids text[], from_free boolean[], remaining bigint[],
  notice_ids text[], api_version text
) returns void language plpgsql set search_path = public, pg_temp as $$
declare
  free_account text := 'free:' || to_char(pohf_now() at time zone 'UTC', 'YYYY-MM');
  givers text[];
  takers text[];
begin
  select
    array_agg(case when spent.mode = 'test' then 'world:sandbox' when spent.from_free then free_account else 'credits' end order by spent.n),
    array_agg(case when spent.mode = 'test' then 'consumed:test' when spent.from_free then 'consumed:free' else 'consumed:credit' end order by spent.n)
  into givers, takers
  from unnest(modes, from_free) with ordinality spent (mode, from_free, n);
  perform ledger_post_moves('spend', 'credit', agents, modes, refs, entry_ids, givers, takers,
    array_fill(1::bigint, array[cardinality(agents)]));
  if remaining && array[0::bigint, 10] then
    perform outbox_publish(array_agg(spent.agent_id), array_agg(spent.mode),
      array_agg(case spent.remaining when 0 then 'credits.exhausted' else 'credits.low' end),
      array_agg(spent.agent_id),
      array_agg(jsonb_build_object('balance', spent.remaining) ||
        case spent.remaining when 0 then '{}'::jsonb else jsonb_build_object('threshold', 10) end),
      array_agg(spent.notice_id), api_version)
    from unnest(agents, modes, remaining, notice_ids) spent (agent_id, mode, remaining, notice_id)
    where spent.remaining in (0, 10);
  end if;
end $$;

-- Mints many credentials, or refuses some of them, in one statement: claim of the act, payment, credential, state,
-- sealed session, event. Answers for each row `granted`, `lost` (the act has its credential), `short` (nothing left to
-- pay with), `owes` or `stopped`. Everything of a granted row is written, nothing of any other.
-- Locks: accounts in order, then claims in order, then sessions. Two batches never wait for each other in a circle.
create function credentials_mint(
  agents text[], modes text[], acts text[], refs text[], replaced text[], charged boolean[],
  credential_ids text[], kinds text[], minted timestamptz[], expiries timestamptz[], jwts text[], answers jsonb[],
  salts bytea[], status_lists text[], status_indexes int[], session_ids text[],
  entry_ids text[], event_ids text[], event_data jsonb[], notice_ids text[], api_version text
) returns table (n bigint, outcome text)
language plpgsql security definer set search_path = public, pg_temp
-- The arrays are short and every table large: always by index, planned once for each connection.
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set jit = off as $$
#variable_conflict use_column
declare
  book_agents text[];
  book_modes text[];
  free_left bigint[];
  remaining bigint[];
  owing boolean[];
  stopped boolean[];
  outcomes text[];
  from_free boolean[];
  left_after bigint[];
  granted bigint;
  claimed bigint;
  tenant text := pohf_tenant();
begin
  -- A bare statement has no tenant and may mix agents; inside a tenant's transaction all rows are the tenant's.
  if tenant not in ('', 'system') and exists (select from unnest(agents) row (agent_id) where agent_id <> tenant) then
    raise exception 'a mint for another tenant' using errcode = 'insufficient_privilege';
  end if;
  -- The ledger's owner is bound by row-level security too. An error takes this back, and so does the end.
  perform set_config('pohf.tenant', 'system', true);

  select array_agg(book.agent_id), array_agg(book.mode) into book_agents, book_modes from (
    select distinct row.agent_id, row.mode from unnest(agents, modes, charged) row (agent_id, mode, charged)
    where row.charged) book;
  if book_agents is not null then
    select array_agg(purse.agent_id), array_agg(purse.mode), array_agg(purse.free), array_agg(purse.remaining),
        array_agg(purse.owes), array_agg(purse.stopped)
      into book_agents, book_modes, free_left, remaining, owing, stopped
      from credits_hold(book_agents, book_modes) purse;
  end if;

  -- A statement of its own, after the locks: it sees what whoever held them has written.
  with asked as (
    select row.n, row.agent_id, row.mode, row.charged,
      row.holder is not distinct from row.replaced
        and row_number() over (partition by row.agent_id, row.mode, row.act, row.reference order by row.n) = 1 as open
    from (
      select given.*, (select claim.credential_id from credential_claims claim where claim.agent_id = given.agent_id
        and claim.mode = given.mode and claim.act = given.act and claim.reference = given.reference) as holder
      from unnest(agents, modes, acts, refs, replaced, charged) with ordinality
        given (agent_id, mode, act, reference, replaced, charged, n)
    ) row
  ), ranked as (
    -- Rows and purses side by side, as in ledger_post_moves.
    select n, charged, open, count(*) filter (where open and charged) over (same_purse order by n nulls last) as rank,
      max(free) over same_purse as free, max(remaining) over same_purse as remaining,
      bool_or(owes) over same_purse as owes, bool_or(stopped) over same_purse as stopped
    from (
      select n, agent_id, mode, charged, open, null::bigint as free, null::bigint as remaining, null::boolean as owes,
        null::boolean as stopped from asked
      union all
      select null, purse.agent_id, purse.mode, false, false, purse.free, purse.remaining, purse.owes, purse.stopped
        from unnest(book_agents, book_modes, free_left, remaining, owing, stopped)
          purse (agent_id, mode, free, remaining, owes, stopped)
    ) both_kinds
    window same_purse as (partition by agent_id, mode)
  ), decided as (
    select ranked.n, ranked.free >= ranked.rank as from_free, ranked.remaining - ranked.rank as left_after,
      case when not ranked.open then 'lost'
        when not ranked.charged then 'granted'
        when ranked.stopped then 'stopped'
        when ranked.owes then 'owes'
        when ranked.rank <= ranked.remaining then 'granted'
        else 'short' end as outcome
    from ranked where ranked.n is not null
  )
  select array_agg(decided.outcome order by decided.n), array_agg(decided.from_free order by decided.n),
      array_agg(decided.left_after order by decided.n), count(*) filter (where decided.outcome = 'granted')
    into outcomes, from_free, left_after, granted from decided;

  if granted > 0 then
    with taken as (
      insert into credential_claims as claim (agent_id, mode, act, reference, credential_id, at, expires_at)
        select row.agent_id, row.mode, row.act, row.reference, row.credential_id, row.minted, row.expiry
        from unnest(agents, modes, acts, refs, credential_ids, minted, expiries, outcomes)
          row (agent_id, mode, act, reference, credential_id, minted, expiry, outcome)
        where row.outcome = 'granted'
        order by row.agent_id collate "C", row.mode collate "C", row.act collate "C", row.reference collate "C"
      on conflict (agent_id, mode, act, reference) do update
        set credential_id = excluded.credential_id, at = excluded.at, expires_at = excluded.expires_at
        where claim.credential_id = any (replaced)
      returning 1
    )
    select count(*) into claimed from taken;
    -- Only an act that costs nothing can be claimed by another between the look and this: no lock stands before it.
    if claimed < granted then
      raise exception 'an act was claimed meanwhile' using errcode = 'serialization_failure';
    end if;
    insert into credentials (agent_id, credential_id, at, mode, kind, expires_at, jwt, answer, salt, status_list, status_idx, charged)
      select row.agent_id, row.credential_id, row.minted, row.mode, row.kind, row.expiry, row.jwt, row.answer, row.salt,
        row.status_list, row.status_index, row.charged
      from unnest(agents, credential_ids, minted, modes, kinds, expiries, jwts, answers, salts, status_lists,
          status_indexes, charged, outcomes)
        row (agent_id, credential_id, minted, mode, kind, expiry, jwt, answer, salt, status_list, status_index, charged,
          outcome)
      where row.outcome = 'granted';
    insert into credential_states (agent_id, credential_id, seq, state, reason)
      select row.agent_id, row.credential_id, 1, 'issued', 'minted'
      from unnest(agents, credential_ids, outcomes) row (agent_id, credential_id, outcome)
      where row.outcome = 'granted';
    -- A session whose credential expired is sealed already; its next credential leaves it so.
    update sessions session set status = 'sealed', credential_id = row.credential_id
      from (
        select act.agent_id, act.mode, act.session_id, act.credential_id, (select claim.at from session_claims claim
          where claim.agent_id = act.agent_id and claim.mode = act.mode and claim.session_id = act.session_id) as at
        from unnest(agents, modes, session_ids, credential_ids, outcomes)
          act (agent_id, mode, session_id, credential_id, outcome)
        where act.outcome = 'granted' and act.session_id is not null
        order by act.agent_id collate "C", act.session_id collate "C"
      ) row
      where session.agent_id = row.agent_id and session.session_id = row.session_id
        and session.at = row.at and session.mode = row.mode and session.status = 'scored';
    perform credits_spend(array_agg(row.agent_id), array_agg(row.mode), array_agg(row.credential_id),
        array_agg(row.entry_id), array_agg(row.from_free), array_agg(row.left_after), array_agg(row.notice_id),
        api_version)
      from unnest(agents, modes, credential_ids, entry_ids, from_free, left_after, notice_ids, charged, outcomes)
        row (agent_id, mode, credential_id, entry_id, from_free, left_after, notice_id, charged, outcome)
      where row.outcome = 'granted' and row.charged having count(*) > 0;
    perform outbox_publish(array_agg(row.agent_id), array_agg(row.mode), array_agg('credential.issued'::text),
        array_agg(row.credential_id), array_agg(row.data), array_agg(row.event_id), api_version)
      from unnest(agents, modes, credential_ids, event_data, event_ids, outcomes)
        row (agent_id, mode, credential_id, data, event_id, outcome)
      where row.outcome = 'granted';
  end if;

  perform set_config('pohf.tenant', tenant, true);
  return query select row.n, row.outcome from unnest(outcomes) with ordinality row (outcome, n);
end $$;

do $$
declare form text;
begin
  -- The parts of a mint are called by the mint alone.
  foreach form in array array[
    'ledger_hold(text[], text[], text[], text)',
    'ledger_post_moves(text, text, text[], text[], text[], text[], text[], text[], bigint[])',
    'credits_hold(text[], text[])',
    'credits_spend(text[], text[], text[], text[], boolean[], bigint[], text[], text)'] loop
    execute format('revoke execute on function %s from public', form);
    execute format('grant execute on function %s to pohf_mint', form);
  end loop;
end $$;

-- Who owns a function needs, while it is given, the right to make things in the schema.
grant create on schema public to pohf_mint;
alter function credentials_mint(text[], text[], text[], text[], text[], boolean[], text[], text[], timestamptz[],
  timestamptz[], text[], jsonb[], bytea[], text[], int[], text[], text[], text[], jsonb[], text[], text) owner to pohf_mint;
revoke create on schema public from pohf_mint;
revoke execute on function credentials_mint(text[], text[], text[], text[], text[], boolean[], text[], text[], timestamptz[],
  timestamptz[], text[], jsonb[], bytea[], text[], int[], text[], text[], text[], jsonb[], text[], text) from public;
grant execute on function credentials_mint(text[], text[], text[], text[], text[], boolean[], text[], text[], timestamptz[],
  timestamptz[], text[], jsonb[], bytea[], text[], int[], text[], text[], text[], jsonb[], text[], text) to pohf_app;
