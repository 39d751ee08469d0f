-- The tables, types and functions of `ledger` after all migrations, to be read and not run. Written by npm run generate from
-- the catalogue of a database; do not edit. Left out are names that PostgreSQL chose, the types of constants, and the role that
-- migrates. A table has row-level security where a line below it says so. Every role may execute a function, unless a line
-- above it says which may.

create table ledger_accounts (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  account text not null check (account ~ '^[a-z_]+(:[A-Za-z0-9_-]+)*$' and length(account) <= 200),
  unit text not null check (unit in ('credit', 'star', 'usd_cent', 'usdc_micro')),
  balance bigint not null default 0 constraint ledger_balance_exact check (balance >= '-9007199254740991' and balance <=
    9007199254740991),
  line_count bigint not null default 0,
  primary key (agent_id, mode, account, unit),
  constraint ledger_balance_side check (ledger_may_hold(account, balance::numeric))
) with (fillfactor=60);
create trigger never_emptied before delete or truncate on ledger_accounts for each statement execute function
  pohf_append_only();
-- row-level security by agent_id
-- pohf_app may select

create table ledger_checkpoints (
  agent_id text not null,
  mode text not null,
  account text not null,
  unit text not null,
  line_number bigint not null,
  balance bigint not null,
  at timestamptz not null,
  primary key (agent_id, mode, account, unit)
);
-- row-level security by agent_id
-- pohf_app may select, insert, update, delete

create table ledger_claims (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  kind text not null check (kind ~ '^[a-z_]{1,40}$'),
  reference text not null check (length(reference) between 1 and 512),
  entry_id text not null,
  at timestamptz not null,
  primary key (agent_id, mode, kind, reference)
);
create index ledger_claims_by_kind on ledger_claims (mode, kind, reference) where kind <> 'spend';
create trigger append_only before delete or update on ledger_claims for each row execute function pohf_append_only();
create trigger never_emptied before truncate on ledger_claims for each statement execute function pohf_append_only();
-- row-level security by agent_id
-- pohf_app may select

create table ledger_compared (
  comparison text not null,
  until timestamptz not null,
  primary key (comparison)
);
-- pohf_app may select, insert, update, delete

create table ledger_drift (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  finding text not null check (finding ~ '^[a-z_]{1,40}$'),
  subject text not null check (length(subject) <= 512),
  detail text not null check (length(detail) <= 1000),
  found_at timestamptz not null default pohf_now(),
  cleared_at timestamptz,
  primary key (agent_id, mode, finding, subject)
);
create index ledger_drift_open on ledger_drift (agent_id, mode) where cleared_at is null;
-- row-level security by agent_id
-- pohf_app may select, insert, update

create table ledger_entries (
  agent_id text not null,
  entry_id text not null,
  at timestamptz not null,
  mode text not null check (mode in ('live', 'test')),
  kind text not null,
  reference text not null,
  primary key (agent_id, entry_id, at)
) partition by range (at);
create index ledger_entries_by_time on ledger_entries using brin (at) with (pages_per_range='32');
create trigger append_only before delete or update on ledger_entries for each row execute function pohf_append_only();
create trigger never_emptied before truncate on ledger_entries for each statement execute function pohf_append_only();
-- partitions by month, never dropped
-- row-level security by agent_id
-- pohf_app may select

create table ledger_hours (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  account text not null,
  unit text not null,
  hour timestamptz not null,
  amount bigint not null,
  primary key (agent_id, mode, account, unit, hour)
) with (fillfactor=50);
-- row-level security by agent_id
-- pohf_app may select

create table ledger_lines (
  agent_id text not null,
  mode text not null,
  account text not null,
  unit text not null,
  line_number bigint not null,
  at timestamptz not null,
  entry_id text not null,
  amount bigint not null check (amount <> 0),
  balance_after bigint not null,
  primary key (agent_id, mode, account, unit, line_number, at)
) partition by range (at);
create index ledger_lines_agent_id_entry_id_idx on ledger_lines (agent_id, entry_id);
create trigger append_only before delete or update on ledger_lines for each row execute function pohf_append_only();
create trigger count_hours after insert on ledger_lines referencing new table as changed for each statement execute function
  ledger_count_hours();
create trigger never_emptied before truncate on ledger_lines for each statement execute function pohf_append_only();
-- partitions by month, never dropped
-- row-level security by agent_id
-- pohf_app may select

create function ledger_count_hours() returns trigger language plpgsql security definer
  set search_path to 'public', 'pg_temp' as $$
begin
  insert into ledger_hours as known (agent_id, mode, account, unit, hour, amount)
  select agent_id, mode, account, unit, date_trunc('hour', at, 'UTC') as hour, sum(amount)
  from changed where account like 'consumed:%'
  group by agent_id, mode, account, unit, hour order by agent_id, mode, account, unit, hour
  on conflict (agent_id, mode, account, unit, hour) do update set amount = known.amount + excluded.amount;
  return null;
end $$;

-- pohf_mint may execute it
create function ledger_hold(agents text[], modes text[], accounts text[], for_unit text)
  returns table(agent_id text, mode text, account text, balance bigint, stopped boolean) language plpgsql security definer
  set search_path to 'public', 'pg_temp' as $$
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

create function ledger_may_hold(account text, balance numeric) returns boolean language sql immutable parallel safe as $$
  select case
    when account like 'world:%' then true
    when account like 'owed:%' then balance <= 0
    else balance >= 0
  end
$$;

-- pohf_app may execute it
create function ledger_post(for_agent text, for_mode text, entry_kind text, entry_reference text, new_entry_id text,
  accounts text[], units text[], amounts bigint[])
  returns table(outcome text, entry_id text, account text, unit text, amount bigint, balance_after bigint) language plpgsql
  security definer set search_path to 'public', 'pg_temp' as $$
#variable_conflict use_column
declare
  claimed record;
  posted_at timestamptz := pohf_now();
begin
  -- The owner may be above row-level security, so the tenant is checked here as well.
  if pohf_tenant() <> 'system' and pohf_tenant() is distinct from for_agent then
    raise exception 'the ledger of another tenant' using errcode = 'insufficient_privilege';
  end if;
  if coalesce(cardinality(accounts), 0) not between 2 and 50
    or cardinality(units) is distinct from cardinality(accounts)
    or cardinality(amounts) is distinct from cardinality(accounts)
    or array_position(accounts, null) is not null or array_position(units, null) is not null
    or array_position(amounts, null) is not null or array_position(amounts, 0::bigint) is not null
  then
    raise exception 'an entry has 2 to 50 whole lines, none of them zero' using errcode = 'integrity_constraint_violation';
  end if;
  if exists (select from unnest(accounts, units) line (account, unit)
    group by line.account, line.unit having count(*) > 1)
  then
    raise exception 'an entry names an account twice' using errcode = 'integrity_constraint_violation';
  end if;
  if exists (select from unnest(units, amounts) line (unit, amount) group by line.unit having sum(line.amount) <> 0)
  then
    raise exception 'the lines do not sum to zero' using errcode = 'integrity_constraint_violation';
  end if;

  -- Everyone takes the accounts in the same order, so two entries never wait for each other.
  insert into ledger_accounts (agent_id, mode, account, unit)
    select for_agent, for_mode, line.account, line.unit from unnest(accounts, units) line (account, unit)
    order by line.account collate "C", line.unit collate "C"
    on conflict do nothing;
  perform from (
      select line.account, line.unit from unnest(accounts, units) line (account, unit)
      order by line.account collate "C", line.unit collate "C"
    ) line
    cross join lateral (
      select from ledger_accounts held where held.agent_id = for_agent and held.mode = for_mode
        and held.account = line.account and held.unit = line.unit
      limit 1 for update
    ) locked;

  if not exists (select from ledger_claims claim where claim.agent_id = for_agent and claim.mode = for_mode
    and claim.kind = entry_kind and claim.reference = entry_reference)
  then
    return query
      select 'short', null::text, line.account, line.unit, line.amount, present.balance
      from unnest(accounts, units, amounts) line (account, unit, amount)
      cross join lateral (
        select held.balance from ledger_accounts held where held.agent_id = for_agent and held.mode = for_mode
          and held.account = line.account and held.unit = line.unit
        limit 1
      ) present
      where not ledger_may_hold(line.account, present.balance::numeric + line.amount)
      order by line.account collate "C", line.unit collate "C" limit 1;
    if found then return; end if;
  end if;

  insert into ledger_claims (agent_id, mode, kind, reference, entry_id, at)
    values (for_agent, for_mode, entry_kind, entry_reference, new_entry_id, posted_at)
    on conflict do nothing;
  if not found then
    select claim.entry_id, claim.at into strict claimed from ledger_claims claim
      where claim.agent_id = for_agent and claim.mode = for_mode
        and claim.kind = entry_kind and claim.reference = entry_reference;
    return query
      select 'repeat', line.entry_id, line.account, line.unit, line.amount, line.balance_after
      from ledger_lines line
      where line.agent_id = for_agent and line.entry_id = claimed.entry_id and line.at = claimed.at;
    return;
  end if;

  insert into ledger_entries (agent_id, entry_id, at, mode, kind, reference)
    values (for_agent, new_entry_id, posted_at, for_mode, entry_kind, entry_reference);
  return query
    -- Materialized: the agent then comes from the list like the account, and the planner cannot read all accounts of the agent.
    with wanted as materialized (
      select for_agent as agent_id, for_mode as mode, line.account, line.unit, line.amount
      from unnest(accounts, units, amounts) line (account, unit, amount)
    ), moved as (
      update ledger_accounts held set balance = held.balance + wanted.amount, line_count = held.line_count + 1
      from wanted
      where held.agent_id = wanted.agent_id and held.mode = wanted.mode
        and held.account = wanted.account and held.unit = wanted.unit
      returning held.account, held.unit, wanted.amount, held.balance, held.line_count
    ), written as (
      insert into ledger_lines
        (agent_id, mode, account, unit, line_number, at, entry_id, amount, balance_after)
      select for_agent, for_mode, moved.account, moved.unit, moved.line_count, posted_at, new_entry_id,
        moved.amount, moved.balance
      from moved returning account, unit, amount, balance_after
    )
    select 'posted', new_entry_id, written.account, written.unit, written.amount, written.balance_after
    from written;
end $$;

-- pohf_mint may execute it
create function ledger_post_moves(entry_kind text, for_unit text, agents text[], modes text[], refs text[], entry_ids text[],
  givers text[], takers text[], amounts bigint[]) returns void language plpgsql security definer
  set search_path to 'public', 'pg_temp' as $$
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
