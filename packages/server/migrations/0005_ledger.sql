-- Which side of zero an account may be on. world: faces the outside and may be on both; owed: is what somebody
-- owes us, zero or less; every other account holds value, zero or more.
create function ledger_may_hold(account text, balance numeric) returns boolean
language sql immutable parallel safe as $$
  select case
    when account like 'world:%' then true
    when account like 'owed:%' then balance <= 0
    else balance >= 0
  end
$$;

create table ledger_accounts (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  account text not null check (account ~ '^[a-z_]+(:[A-Za-z0-9_-]+)*$' and length(account) <= 200),
  unit text not null check (unit in ('credit', 'star', 'usd_cent', 'usdc_micro')),
  balance bigint not null default 0,
  -- How many lines the account has; each line carries its number, so a missing one shows.
  line_count bigint not null default 0,
  primary key (agent_id, mode, account, unit),
  constraint ledger_balance_side check (ledger_may_hold(account, balance)),
  -- 2^53 - 1: every balance is exact as a JSON number.
  constraint ledger_balance_exact check (balance between -9007199254740991 and 9007199254740991)
);
call pohf_isolate('ledger_accounts');

create table ledger_entries (
  agent_id text not null,
  entry_id text not null,
  at timestamptz not null,
  mode text not null check (mode in ('live', 'test')),
  kind text not null,
  reference text not null,
  primary key (agent_id, entry_id, at)
) partition by range (at);
call pohf_isolate('ledger_entries');

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
create index on ledger_lines (agent_id, entry_id);
call pohf_isolate('ledger_lines');

-- Not partitioned: one reference posts once, for ever.
create table ledger_claims (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  kind text not null check (kind ~ '^[a-z_]{1,40}$'),
  reference text not null check (length(reference) between 1 and 512),
  entry_id text not null,
  at timestamptz not null,
  primary key (agent_id, mode, kind, reference)
);
call pohf_isolate('ledger_claims');

-- History stays, whoever asks: row triggers reach the partitions too.
create trigger append_only before update or delete on ledger_entries
  for each row execute function pohf_append_only();
create trigger append_only before update or delete on ledger_lines
  for each row execute function pohf_append_only();
create trigger append_only before update or delete on ledger_claims
  for each row execute function pohf_append_only();
create trigger never_emptied before truncate on ledger_entries
  for each statement execute function pohf_append_only();
create trigger never_emptied before truncate on ledger_lines
  for each statement execute function pohf_append_only();
create trigger never_emptied before truncate on ledger_claims
  for each statement execute function pohf_append_only();
create trigger never_emptied before delete or truncate on ledger_accounts
  for each statement execute function pohf_append_only();
revoke insert, update, delete, truncate on ledger_accounts, ledger_entries, ledger_lines, ledger_claims
  from pohf_app;

-- The only way value moves. Answers the lines of the entry with outcome `posted`, or `repeat` with the lines as
-- they were posted first; or writes nothing and answers `short` with the account that cannot give so much.
-- `short` is an answer and not an error, so that the caller's transaction lives on and may draw elsewhere.
create function ledger_post(
  for_agent text, for_mode text, entry_kind text, entry_reference text, new_entry_id text,
  accounts text[], units text[], amounts bigint[]
) returns table (outcome text, entry_id text, account text, unit text, amount bigint, balance_after bigint)
language plpgsql security definer set search_path = public, pg_temp as $$
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
  perform from ledger_accounts held
    join unnest(accounts, units) line (account, unit) on line.account = held.account and line.unit = held.unit
    where held.agent_id = for_agent and held.mode = for_mode
    order by held.account collate "C", held.unit collate "C"
    for update of held;

  if not exists (select from ledger_claims claim where claim.agent_id = for_agent and claim.mode = for_mode
    and claim.kind = entry_kind and claim.reference = entry_reference)
  then
    return query
      select 'short', null::text, held.account, held.unit, line.amount, held.balance from ledger_accounts held
      join unnest(accounts, units, amounts) line (account, unit, amount)
        on line.account = held.account and line.unit = held.unit
      where held.agent_id = for_agent and held.mode = for_mode
        and not ledger_may_hold(held.account, held.balance::numeric + line.amount)
      order by held.account collate "C", held.unit collate "C" limit 1;
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
    with moved as (
      update ledger_accounts held set balance = held.balance + line.amount, line_count = held.line_count + 1
      from unnest(accounts, units, amounts) line (account, unit, amount)
      where held.agent_id = for_agent and held.mode = for_mode
        and held.account = line.account and held.unit = line.unit
      returning held.account, held.unit, line.amount, held.balance, held.line_count
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
revoke execute on function ledger_post(text, text, text, text, text, text[], text[], bigint[]) from public;
grant execute on function ledger_post(text, text, text, text, text, text[], text[], bigint[]) to pohf_app;

insert into platform_partitioned (table_name) values ('ledger_entries'), ('ledger_lines');
call pohf_make_partitions('ledger_entries', now(), 3);
call pohf_make_partitions('ledger_lines', now(), 3);
