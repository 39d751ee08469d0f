-- Every look-up of several keys is one index look-up for each key, whatever the planner knows about the table. A join of
-- unnest() with ledger_accounts read every account of every agent while the table had no statistics: after a restore, after
-- an upgrade, before the first autovacuum. `lateral (... limit 1)` cannot be turned into another join.

-- As before, but the accounts are found one by one.
create or replace function ledger_post(
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

-- As before, but the accounts are found one by one.
create or replace function ledger_hold(agents text[], modes text[], accounts text[], for_unit text)
returns table (agent_id text, mode text, account text, balance bigint, stopped boolean)
language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
begin
  return query
    select wanted.agent_id, wanted.mode, wanted.account, present.balance,
      (select true from ledger_drift drift where drift.agent_id = wanted.agent_id and drift.mode = wanted.mode
        and drift.cleared_at is null limit 1) is not null
    from (
      select book.agent_id, book.mode, named.account
      from unnest(agents, modes) book (agent_id, mode) cross join unnest(accounts) named (account)
      order by book.agent_id collate "C", book.mode collate "C", named.account collate "C"
    ) wanted
    cross join lateral (
      select held.balance from ledger_accounts held where held.agent_id = wanted.agent_id
        and held.mode = wanted.mode and held.account = wanted.account and held.unit = for_unit
      limit 1 for update
    ) present;
end $$;

-- As before, but the accounts are found one by one.
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
      select move.agent_id, move.mode, side.account from unnest(agents, modes, givers, takers)
        move (agent_id, mode, giver, taker) cross join lateral (values (move.giver), (move.taker)) side (account)
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
  with line as (
    select move.agent_id, move.mode, move.entry_id, side.account, side.amount,
      row_number() over same_account as place, sum(side.amount) over same_account as running
    from unnest(agents, modes, entry_ids, givers, takers, amounts) with ordinality
      move (agent_id, mode, entry_id, giver, taker, amount, n)
    cross join lateral (values (move.giver, -move.amount), (move.taker, move.amount)) side (account, amount)
    window same_account as (partition by move.agent_id, move.mode, side.account order by move.n)
  ), total as materialized (
    -- The unit stands in the list too: as a constant it made the planner read every account of this unit.
    select line.agent_id, line.mode, line.account, for_unit as unit, sum(line.amount)::bigint as amount,
      count(*) as lines
    from line group by line.agent_id, line.mode, line.account
  ), moved as (
    update ledger_accounts held set balance = held.balance + total.amount, line_count = held.line_count + total.lines
    from total where held.agent_id = total.agent_id and held.mode = total.mode
      and held.account = total.account and held.unit = total.unit
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

-- Whether an agent's ledger is stopped, at every mint, and the open drift, at every scrape of the metrics.
create index ledger_drift_open on ledger_drift (agent_id, mode) where cleared_at is null;
-- The session of a credential that a payment is bound with.
create index credential_claims_of_session on credential_claims (agent_id, credential_id) where act = 'session';

-- Erasure of a member. Events of a mint are about a credential and never about a member: they stay out of the index.
create index events_of_subject on events (agent_id, subject) where type <> 'credential.issued';
create index payment_bindings_of_human on payment_bindings (agent_id, mode, human_ref);
create index nonces_of_member on nonces (agent_id, member_ref) where member_ref is not null;
create index device_keys_of_subject on device_keys (agent_id, mode, subject_ref);
create index task_completions_of_member on task_completions (agent_id, mode, member_ref) where member_ref is not null;
create index passkey_challenges_bound on passkey_challenges (bound_to);

-- Purchases: the reconciler reads those that were paid within seconds, operators those in one state, and a transaction
-- refunds one purchase.
create index purchases_paid on purchases (changed_at) where transaction_hash is not null;
create index purchases_in_state on purchases (state, changed_at);
create index purchases_by_refund on purchases (refund_transaction_hash) where refund_transaction_hash is not null;
-- Card events that match no checkout stay for ever among those that do.
create index card_events_unmatched on card_events (received_at) where outcome = 'unmatched';
-- The cleanup of mail tokens reads by time.
create index on mail_tokens (expires_at);

-- The job that ends recordings read all of the last day, most of them closed.
drop index session_recorders_due;
create index session_recorders_due on session_recorders (expires_at) where status = 'open';
create index session_recorders_ended on session_recorders (expires_at) where status <> 'open';
-- Offers that wait for an operator are listed by id; by time the index was no help.
drop index orders_waiting;
create index orders_waiting on orders (order_id) where offer and accepted_at is null and status in ('created', 'funded');
-- Keys are deleted by time, of all agents; nothing reads them by agent and time.
drop index idempotency_keys_agent_id_created_at_idx;
create index on idempotency_keys (created_at);
-- No statement compares spends by kind: every mint wrote an entry into this index, and nothing read it.
drop index ledger_claims_by_kind;
create index ledger_claims_by_kind on ledger_claims (mode, kind, reference) where kind <> 'spend';
-- Orders are listed by id, which the primary key serves.
drop index orders_agent_id_mode_created_at_order_id_idx;
-- Nothing reads forward orders by time.
drop index forward_orders_received_at_idx;
