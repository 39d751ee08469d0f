-- The tables, types and functions of `credentials` after all migrations, to be read and not run. Written by npm run generate
-- from the catalogue of a database; do not edit. Left out are names that PostgreSQL chose, the types of constants, and the role
-- that migrates. A table has row-level security where a line below it says so. Every role may execute a function, unless a line
-- above it says which may.

create table binding_allowances (
  agent_id text not null,
  month text not null check (month ~ '^\d{4}-\d{2}$'),
  used integer not null check (used > 0),
  primary key (agent_id, month)
);
-- row-level security by agent_id
-- pohf_app may select, insert, update, delete

create table credential_claims (
  agent_id text not null,
  mode text not null,
  act text not null check (act in ('session', 'personhood', 'binding', 'purchase', 'approval')) not valid,
  reference text not null,
  credential_id text not null,
  at timestamptz not null,
  expires_at timestamptz not null,
  primary key (agent_id, mode, act, reference)
);
create index credential_claims_of_session on credential_claims (agent_id, credential_id) where act = 'session';
-- row-level security by agent_id, open to pohf_mint
-- pohf_app may select, insert, update, delete
-- pohf_mint may select, insert, update

create table credential_states (
  agent_id text not null,
  credential_id text not null,
  seq integer not null,
  at timestamptz not null default pohf_now(),
  state text not null check (state in ('issued', 'suspended', 'revoked')),
  reason text not null,
  grounds text[] not null default '{}',
  primary key (agent_id, credential_id, seq),
  check (grounds <@ array['operator', 'unit', 'dispute'] and (state = 'suspended' or grounds = '{}'))
);
create trigger append_only before delete or update on credential_states for each statement execute function pohf_append_only();
create trigger transition before insert on credential_states for each row when (new.seq <> 1 or new.state <> 'issued')
  execute function credential_states_transition();
-- row-level security by agent_id, open to pohf_mint
-- pohf_app may select, insert, update, delete
-- pohf_mint may select, insert

create table credentials (
  agent_id text not null,
  credential_id text not null,
  at timestamptz not null default pohf_now(),
  mode text not null check (mode in ('live', 'test')),
  kind text not null check (kind in ('work', 'view', 'presence', 'personhood', 'binding', 'purchase', 'approval')) not valid,
  expires_at timestamptz not null,
  jwt text not null,
  answer jsonb not null,
  salt bytea,
  status_list text,
  status_idx integer,
  charged boolean not null default false,
  primary key (agent_id, credential_id, at),
  constraint credentials_have_a_status check (status_list is not null and status_idx is not null) not valid
) partition by range (at);
create index credentials_by_id on credentials (credential_id);
create index credentials_by_time on credentials using brin (at) with (pages_per_range='32');
create index credentials_of_agent on credentials (agent_id, mode, at, credential_id);
create trigger append_only before delete on credentials for each statement execute function pohf_append_only();
create trigger only_forget before update on credentials for each row execute function credentials_only_forget();
-- partitions by month, never dropped
-- row-level security by agent_id, open to pohf_mint
-- pohf_app may select, insert, update, delete
-- pohf_mint may insert

create table forgotten_credentials (
  agent_id text not null,
  credential_id text not null,
  signer text not null,
  batch bigint not null,
  act_key text,
  hash text not null,
  status_list text not null,
  status_idx integer not null,
  signed_at timestamptz not null,
  expires_at timestamptz not null,
  charged boolean not null,
  state text not null check (state in ('issued', 'suspended', 'revoked')),
  recorded_at timestamptz not null default pohf_now(),
  grounds text[] not null default '{}',
  primary key (agent_id, credential_id),
  check (grounds <@ array['operator', 'unit', 'dispute'] and (state = 'suspended' or grounds = '{}'))
);
create index forgotten_credentials_by_act on forgotten_credentials (agent_id, act_key);
create index forgotten_credentials_by_id on forgotten_credentials (credential_id);
create index forgotten_credentials_by_index on forgotten_credentials (status_list, status_idx);
create trigger transition before update on forgotten_credentials for each row execute function
  forgotten_credentials_transition();
-- row-level security by agent_id
-- pohf_app may select, insert, update
-- pohf_mint may select

create table onchain_humans (
  human bytea not null,
  wallet bytea not null,
  holder text,
  until timestamptz not null,
  moved_until timestamptz,
  primary key (human)
);
create index onchain_humans_until_idx on onchain_humans (until);
-- row-level security hidden from agents
-- pohf_app may select, insert, update, delete

create table payment_bindings (
  agent_id text not null,
  mode text not null,
  payment_ref text not null,
  human_ref text not null,
  primary key (agent_id, mode, payment_ref)
);
create index payment_bindings_of_human on payment_bindings (agent_id, mode, human_ref);
-- row-level security by agent_id
-- pohf_app may select, insert, update, delete

create table status_blocks (
  list_id text not null,
  block integer not null check (block >= 0),
  taken_at timestamptz,
  primary key (list_id, block)
);
create index status_blocks_free on status_blocks (list_id) where taken_at is null;
create trigger taken_once before update on status_blocks for each row execute function status_blocks_taken_once();
-- pohf_app may select, insert, update

create table status_elsewhere (
  list_id text not null check (list_id ~ '^[a-z0-9]{2}-(live|test)-[1-9][0-9]{0,8}$'),
  idx integer not null check (idx between 0 and 1048575),
  value smallint not null check (value in (0, 1, 2)),
  credential_id text not null,
  changed_at timestamptz not null default pohf_now(),
  expires_at timestamptz not null,
  primary key (list_id, idx)
);
-- pohf_app may select, insert, update, delete

create table status_entries (
  list_id text not null,
  idx integer not null check (idx between 0 and 1048575),
  value smallint not null check (value in (1, 2)),
  primary key (list_id, idx),
  foreign key (list_id) references status_lists(list_id) not valid
);
create trigger final before delete or update on status_entries for each row execute function status_entries_final();
-- pohf_app may select, insert, update, delete

create table status_lists (
  list_id text not null check (list_id ~ '^[a-z0-9]{2}-(live|test)-[1-9][0-9]{0,8}$'),
  mode text not null check (mode in ('live', 'test')),
  number integer not null check (number > 0),
  entries integer not null check (entries between 4 and 1048576 and (entries % 4) = 0),
  block_size integer not null,
  opened_at timestamptz not null default pohf_now(),
  version bigint not null default 0,
  built_version bigint,
  built_at timestamptz,
  lease_until timestamptz,
  kid text,
  etag text,
  jwt text,
  changed_at timestamptz,
  primary key (list_id),
  unique (mode, number),
  check (block_size > 0 and (entries % block_size) = 0),
  check (built_version <= version),
  check (num_nulls(built_version, built_at, kid, etag, jwt) in (0, 5))
);
create trigger forward before update on status_lists for each row execute function status_lists_forward();
create trigger note_change before update of version, built_version on status_lists for each row execute function
  status_lists_note_change();
create trigger one_cell before insert on status_lists for each row execute function status_lists_one_cell();
-- pohf_app may select, insert, update

create function credential_states_transition() returns trigger language plpgsql as $$
declare last record;
begin
  select seq, state, grounds into last from credential_states
    where agent_id = new.agent_id and credential_id = new.credential_id order by seq desc limit 1;
  if not found then
    if new.state <> 'issued' or new.seq <> 1 then raise exception 'a credential begins as issued' using errcode = 'check_violation'; end if;
  elsif new.seq <> last.seq + 1
    or (last.state, new.state) not in (('issued', 'suspended'), ('issued', 'revoked'), ('suspended', 'issued'), ('suspended', 'revoked'))
    and ((last.state, new.state) <> ('suspended', 'suspended') or last.grounds = new.grounds) then
    raise exception 'a credential cannot go from % to %', last.state, new.state using errcode = 'check_violation';
  end if;
  return new;
end $$;

-- owner pohf_mint; pohf_app may execute it
create function credentials_charge_forgotten(agents text[], modes text[], credential_ids text[], entry_ids text[],
  notice_ids text[], api_version text) returns text[] language plpgsql security definer
  set search_path to 'public', 'pg_temp' as $$
declare paid text[];
begin
  perform set_config('pohf.tenant', 'system', true);
  with purse as materialized (
    select held.* from (select array_agg(book.agent_id) as agents, array_agg(book.mode) as modes
      from (select distinct given.agent_id, given.mode from unnest(agents, modes) given (agent_id, mode)) book) books
    cross join lateral credits_hold(books.agents, books.modes) held
  ), ranked as (
    select given.*, purse.free, purse.remaining,
      row_number() over (partition by given.agent_id, given.mode order by given.n) as rank
    from unnest(agents, modes, credential_ids, entry_ids, notice_ids) with ordinality
      given (agent_id, mode, credential_id, entry_id, notice_id, n)
    join purse on purse.agent_id = given.agent_id and purse.mode = given.mode and not purse.owes and not purse.stopped
  ), payable as (select * from ranked where rank <= remaining)
  select array_agg(payable.credential_id) into paid from payable
    cross join lateral credits_spend(array[payable.agent_id], array[payable.mode], array[payable.credential_id],
      array[payable.entry_id], array[payable.rank <= payable.free], array[payable.remaining - payable.rank],
      array[payable.notice_id], api_version);
  return coalesce(paid, '{}');
end $$;

-- owner pohf_mint; pohf_app may execute it
create function credentials_mint(agents text[], modes text[], acts text[], refs text[], replaced text[], charged boolean[],
  credential_ids text[], kinds text[], minted timestamptz[], expiries timestamptz[], jwts text[], answers jsonb[],
  salts bytea[], status_lists text[], status_indexes integer[], session_ids text[], entry_ids text[], event_ids text[],
  event_data jsonb[], notice_ids text[], roots jsonb[], api_version text, act_keys text[], of_signer text, of_batch bigint,
  acknowledged bigint) returns table(n bigint, outcome text) language plpgsql security definer
  set search_path to 'public', 'pg_temp' set plan_cache_mode to 'force_generic_plan' set enable_seqscan to 'off'
  set enable_hashjoin to 'off' set enable_mergejoin to 'off' set jit to 'off' as $$
#variable_conflict use_column
-- Mints many credentials, or refuses some of them, in one statement: claim of the act, payment, root, credential, state,
-- sealed session, event. Everything of a granted row is written, nothing of any other.
--   roots         what each row spends besides a credit, or null
--   act_keys      the keyed natural key of each act, by which a restore found the credentials that the database lacks
--   of_batch      the batch of `of_signer` that the credentials were signed with: recorded here, and used once
--   acknowledged  a batch that the signer knows to be committed; a database that lacks it is refused (SQLSTATE PR001)
-- Outcomes: `granted`; `lost`, the act has a credential; `forgotten`, it has one that is not stored; `short`, `owes`,
-- `stopped`, the account cannot pay; `hour`, `day`, the budget of its network or device is used up; `suspended`, its root is.
-- Locks: accounts in order, then reservations and counters in order, then claims in order, then sessions. Two batches never
-- wait for each other in a circle.
-- The settings above: the arrays are short and every table large, so always by index, planned once for each connection.
declare
  pruned bigint := coalesce((select edge.batch from mint_batches_pruned edge where edge.signer = of_signer), 0);
  forgotten bigint[];
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
  unclaimed boolean[];
  spends text[];
  tenant text := pohf_tenant();
begin
  -- A bare statement has no tenant and may mix agents; inside a tenant's transaction all rows are the tenant's.
  if tenant not in ('', 'system') and exists (select from unnest(agents) row (agent_id) where agent_id <> tenant) then
    raise exception 'a mint for another tenant' using errcode = 'insufficient_privilege';
  end if;
  -- A deleted batch counts as one that the database has: it is not lacking, and its number was used.
  if acknowledged > pruned
    and not exists (select from mint_batches known where known.signer = of_signer and known.batch = acknowledged
      and not known.given_up) then
    raise exception 'the database lacks batch % of signer %', acknowledged, of_signer using errcode = 'PR001';
  end if;
  if of_batch <= pruned then
    raise exception 'batch % of signer % was used before', of_batch, of_signer using errcode = 'PR001';
  end if;
  -- Drafts of one batch have one time, by which all its rows count in the same hour.
  if exists (select from unnest(minted) time where time <> minted[1]) then
    raise exception 'a batch of credentials with different times' using errcode = 'invalid_parameter_value';
  end if;
  -- The ledger's owner is bound by row-level security too. An error takes this back, and so does the end.
  perform set_config('pohf.tenant', 'system', true);

  select array_agg(given.n) into forgotten
    from unnest(agents, act_keys) with ordinality given (agent_id, act_key, n)
    where exists (select from forgotten_credentials lost where lost.agent_id = given.agent_id
      and lost.act_key = given.act_key and lost.expires_at > pohf_now());

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
  select array_agg(row.holder is not distinct from row.replaced and row.rank = 1
      and row.n <> all (coalesce(forgotten, '{}')) order by row.n) into unclaimed from (
    select given.n, given.replaced,
      row_number() over (partition by given.agent_id, given.mode, given.act, given.reference order by given.n) as rank,
      (select claim.credential_id from credential_claims claim where claim.agent_id = given.agent_id
        and claim.mode = given.mode and claim.act = given.act and claim.reference = given.reference) as holder
    from unnest(agents, modes, acts, refs, replaced) with ordinality
      given (agent_id, mode, act, reference, replaced, n)
  ) row;
  spends := case when array_remove(roots, null) = '{}' then array_fill(null::text, array[cardinality(agents)])
    else roots_spend(roots, agents, minted[1], unclaimed) end;

  with asked as (
    select row.n, row.agent_id, row.mode, row.charged, row.spend, row.unclaimed,
      row.unclaimed and coalesce(row.spend in ('reserved', 'spent'), true) as open
    from unnest(agents, modes, charged, spends, unclaimed) with ordinality
      row (agent_id, mode, charged, spend, unclaimed, n)
  ), ranked as (
    -- Rows and purses side by side, as in ledger_post_moves.
    select n, charged, open, spend, unclaimed, count(*) filter (where open and charged) over (same_purse order by n nulls last) as rank,
      max(free) over same_purse as free, max(remaining) over same_purse as remaining,
      bool_or(owes) over same_purse as owes, bool_or(stopped) over same_purse as stopped
    from (
      select n, agent_id, mode, charged, open, spend, unclaimed, null::bigint as free, null::bigint as remaining, null::boolean as owes,
        null::boolean as stopped from asked
      union all
      select null, purse.agent_id, purse.mode, false, false, null, null, purse.free, purse.remaining, purse.owes, purse.stopped
        from unnest(book_agents, book_modes, free_left, remaining, owing, stopped)
          purse (agent_id, mode, free, remaining, owes, stopped)
    ) both_kinds
    window same_purse as (partition by agent_id, mode)
  ), decided as (
    select ranked.n, ranked.free >= ranked.rank as from_free, ranked.remaining - ranked.rank as left_after,
      -- Payment comes before the root: who cannot pay learns nothing about a network.
      case when ranked.n = any (forgotten) then 'forgotten'
        when not ranked.unclaimed then 'lost'
        when ranked.charged and ranked.stopped then 'stopped'
        when ranked.charged and ranked.owes then 'owes'
        when ranked.charged and (ranked.remaining <= 0 or ranked.open and ranked.rank > ranked.remaining) then 'short'
        when not ranked.open then ranked.spend
        else 'granted' end as outcome
    from ranked where ranked.n is not null
  )
  select array_agg(decided.outcome order by decided.n), array_agg(decided.from_free order by decided.n),
      array_agg(decided.left_after order by decided.n), count(*) filter (where decided.outcome = 'granted')
    into outcomes, from_free, left_after, granted from decided;
  if array_remove(spends, null) <> '{}' then
    perform roots_settle(roots, agents, minted[1], spends, credential_ids,
      array(select row.outcome = 'granted' from unnest(outcomes) with ordinality row (outcome, n) order by row.n));
  end if;

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

  -- A number that is there already comes from a signer whose journal was restored to the past, or from before a restore.
  insert into mint_batches (signer, batch, discarded)
    select of_signer, of_batch, coalesce(array_agg(row.credential_id) filter (where row.outcome <> 'granted'), '{}')
    from unnest(credential_ids, outcomes) row (credential_id, outcome)
    on conflict do nothing;
  if not found then
    raise exception 'batch % of signer % was used before', of_batch, of_signer using errcode = 'PR001';
  end if;
  perform set_config('pohf.tenant', tenant, true);
  return query select row.n, row.outcome from unnest(outcomes) with ordinality row (outcome, n);
end $$;

create function credentials_only_forget() returns trigger language plpgsql as $$
declare forgotten credentials := old;
begin
  forgotten.salt := null;
  if new is distinct from forgotten then
    raise exception '% is append-only', tg_table_name using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;

create function forgotten_credentials_transition() returns trigger language plpgsql as $$
begin
  if old.state = 'revoked' and new.state <> 'revoked' then
    raise exception 'a revoked credential stays revoked' using errcode = 'check_violation';
  end if;
  return new;
end $$;

create function status_blocks_taken_once() returns trigger language plpgsql as $$
begin
  if old.taken_at is not null then
    raise exception 'a block of a status list is taken once' using errcode = 'check_violation';
  end if;
  return new;
end $$;

create function status_entries_final() returns trigger language plpgsql as $$
begin
  if old.value = 1 then
    raise exception 'a revoked credential stays revoked' using errcode = 'check_violation';
  end if;
  return case tg_op when 'DELETE' then old else new end;
end $$;

create function status_lists_forward() returns trigger language plpgsql as $$
begin
  if (old.list_id, old.mode, old.number, old.entries, old.block_size)
    is distinct from (new.list_id, new.mode, new.number, new.entries, new.block_size) then
    raise exception 'the layout of a status list is fixed' using errcode = 'check_violation';
  end if;
  if new.version < old.version or coalesce(new.built_version, -1) < coalesce(old.built_version, -1) then
    raise exception 'a status list cannot go back' using errcode = 'check_violation';
  end if;
  return new;
end $$;

create function status_lists_note_change() returns trigger language plpgsql as $$
begin
  if new.built_version is distinct from old.built_version then
    -- What was not in the build came after its snapshot.
    new.changed_at := case when new.version > new.built_version then new.built_at end;
  elsif new.version > old.version then
    new.changed_at := coalesce(old.changed_at, pohf_now());
  end if;
  return new;
end $$;

create function status_lists_one_cell() returns trigger language plpgsql as $$
begin
  if exists (select from status_lists where left(list_id, 2) <> left(new.list_id, 2)) then
    raise exception 'status list % is of another cell than the lists of this database', new.list_id
      using errcode = 'check_violation';
  end if;
  return new;
end $$;
