-- Deployment-wide: the batches of each signer whose mint this database has committed. A database that lacks a batch which a
-- signer has an acknowledgement of was restored to the past. Old rows are deleted; the newest 10,000 of each signer stay.
create table mint_batches (
  signer text not null check (signer ~ '^sgn_[0-9a-f]{16}$'),
  batch bigint not null check (batch > 0),
  -- Credentials of the batch that were signed and not stored: nobody has them.
  discarded text[] not null default '{}',
  at timestamptz not null default pohf_now(),
  primary key (signer, batch)
);

-- Credentials that were issued and that a restored database does not have. The journal of the signer names them.
create table forgotten_credentials (
  agent_id text not null,
  credential_id text not null,
  signer text not null,
  batch bigint not null,
  -- The keyed natural key of the act; null where the batch was never acknowledged: then the act is free.
  act_key text,
  hash text not null,
  status_list text not null,
  status_idx int not null,
  signed_at timestamptz not null,
  expires_at timestamptz not null,
  charged boolean not null,
  state text not null check (state in ('issued', 'suspended', 'revoked')),
  recorded_at timestamptz not null default pohf_now(),
  primary key (agent_id, credential_id)
);
create index forgotten_credentials_by_act on forgotten_credentials (agent_id, act_key);
create index forgotten_credentials_by_id on forgotten_credentials (credential_id);
create index forgotten_credentials_by_index on forgotten_credentials (status_list, status_idx);
call pohf_isolate('forgotten_credentials');
create function forgotten_credentials_transition() returns trigger language plpgsql as $$
begin
  if old.state = 'revoked' and new.state <> 'revoked' then
    raise exception 'a revoked credential stays revoked' using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger transition before update on forgotten_credentials
  for each row execute function forgotten_credentials_transition();

-- Keyed values that count once and whose use a restored database does not have.
create table forgotten_values (
  value_key text primary key,
  recorded_at timestamptz not null default pohf_now()
);

-- The photo of a presence, for the journal record of its credential.
create index photo_hashes_by_session on photo_hashes (agent_id, session_id);

-- Each completed restore. What was open before it is void.
create table restore_epochs (
  epoch int primary key check (epoch > 0),
  restored_at timestamptz not null default pohf_now(),
  report jsonb not null
);
create trigger append_only before update or delete on restore_epochs
  for each statement execute function pohf_append_only();
revoke update, delete on restore_epochs from pohf_app;
revoke delete on forgotten_credentials, forgotten_values from pohf_app;

-- As before, and records the batch of the signer that the credentials were signed with. Refuses a database that lacks
-- `acknowledged`, a batch that the signer knows to be committed (SQLSTATE PR001). A row whose act has a forgotten credential
-- that is not expired gets `forgotten`: nothing of it is written.
create function credentials_mint(
  agents text[], modes text[], acts text[], refs text[], replaced text[], charged boolean[],
  credential_ids text[], kinds text[], minted timestamptz[], expiries timestamptz[], jwts text[], answers jsonb[],
  salts bytea[], status_lists text[], status_indexes int[], session_ids text[],
  entry_ids text[], event_ids text[], event_data jsonb[], notice_ids text[], roots jsonb[], api_version text,
  act_keys text[], of_signer text, of_batch bigint, acknowledged bigint
) returns table (n bigint, outcome text)
language plpgsql security definer set search_path = public, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set jit = off as $$
#variable_conflict use_column
declare
  forgotten bigint[];
  outcomes text[];
  tenant text := pohf_tenant();
begin
  if acknowledged is not null
    and not exists (select from mint_batches known where known.signer = of_signer and known.batch = acknowledged) then
    raise exception 'the database lacks batch % of signer %', acknowledged, of_signer using errcode = 'PR001';
  end if;
  perform set_config('pohf.tenant', 'system', true);
  select array_agg(given.n) into forgotten
    from unnest(agents, act_keys) with ordinality given (agent_id, act_key, n)
    where exists (select from forgotten_credentials lost where lost.agent_id = given.agent_id
      and lost.act_key = given.act_key and lost.expires_at > pohf_now());
  perform set_config('pohf.tenant', tenant, true);
  -- No credential has this id, so the function below finds the act claimed.
  for i in 1 .. coalesce(cardinality(forgotten), 0) loop
    replaced[forgotten[i]::int] := '(forgotten)';
  end loop;
  select array_agg(case when row.n = any (forgotten) then 'forgotten' else row.outcome end order by row.n) into outcomes
    from credentials_mint(agents, modes, acts, refs, replaced, charged, credential_ids, kinds, minted, expiries, jwts,
      answers, salts, status_lists, status_indexes, session_ids, entry_ids, event_ids, event_data, notice_ids, roots,
      api_version) row;
  -- A number that is there already comes from a signer whose journal was restored to the past, or from before a restore.
  insert into mint_batches (signer, batch, discarded)
    select of_signer, of_batch, coalesce(array_agg(row.credential_id) filter (where row.outcome <> 'granted'), '{}')
    from unnest(credential_ids, outcomes) row (credential_id, outcome)
    on conflict do nothing;
  if not found then
    raise exception 'batch % of signer % was used before', of_batch, of_signer using errcode = 'PR001';
  end if;
  return query select row.n, row.outcome from unnest(outcomes) with ordinality row (outcome, n);
end $$;

-- Charges forgotten credentials, each once and as far as the balance goes; answers the ids of those that were charged.
create function credentials_charge_forgotten(
  agents text[], modes text[], credential_ids text[], entry_ids text[], notice_ids text[], api_version text
) returns text[] language plpgsql security definer set search_path = public, pg_temp as $$
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

grant select, insert on mint_batches to pohf_mint;
grant select on forgotten_credentials to pohf_mint;
grant create on schema public to pohf_mint;
alter function credentials_mint(text[], text[], text[], text[], text[], boolean[], text[], text[], timestamptz[],
  timestamptz[], text[], jsonb[], bytea[], text[], int[], text[], text[], text[], jsonb[], text[], jsonb[], text,
  text[], text, bigint, bigint) owner to pohf_mint;
revoke create on schema public from pohf_mint;
revoke execute on function credentials_mint(text[], text[], text[], text[], text[], boolean[], text[], text[], timestamptz[],
  timestamptz[], text[], jsonb[], bytea[], text[], int[], text[], text[], text[], jsonb[], text[], jsonb[], text,
  text[], text, bigint, bigint) from public;
grant execute on function credentials_mint(text[], text[], text[], text[], text[], boolean[], text[], text[], timestamptz[],
  timestamptz[], text[], jsonb[], bytea[], text[], int[], text[], text[], text[], jsonb[], text[], jsonb[], text,
  text[], text, bigint, bigint) to pohf_app;

grant create on schema public to pohf_mint;
alter function credentials_charge_forgotten(text[], text[], text[], text[], text[], text) owner to pohf_mint;
revoke create on schema public from pohf_mint;
revoke execute on function credentials_charge_forgotten(text[], text[], text[], text[], text[], text) from public;
grant execute on function credentials_charge_forgotten(text[], text[], text[], text[], text[], text) to pohf_app;

-- As before, and a restore voids sessions that were scored: a credential of them may have been minted in the lost span.
create or replace function sessions_transition() returns trigger language plpgsql as $$
begin
  if old.status is distinct from new.status and (old.status, new.status) not in
    (('open', 'closed'), ('open', 'expired'), ('closed', 'scored'), ('closed', 'expired'), ('scored', 'sealed'),
     ('scored', 'expired')) then
    raise exception 'a session cannot go from % to %', old.status, new.status using errcode = 'check_violation';
  end if;
  if old.status in ('scored', 'sealed') and (old.quality, old.verified) is distinct from (new.quality, new.verified) then
    raise exception 'a session is scored once' using errcode = 'check_violation';
  end if;
  return new;
end $$;

-- As before, and a restore takes approvals back: an approved payout may have been paid in the lost span.
create or replace function partners_payout_change() returns trigger language plpgsql as $$
declare withdrawn boolean;
begin
  if tg_op = 'INSERT' then
    if new.state <> 'queued' then
      raise exception 'a payout begins as queued' using errcode = 'integrity_constraint_violation';
    end if;
    return new;
  end if;
  withdrawn := (old.state, new.state) = ('approved', 'in_review') and new.approved_by is null;
  if not withdrawn and (old.state, new.state) not in (
    ('queued', 'in_review'), ('in_review', 'approved'), ('approved', 'paid'),
    ('queued', 'rejected'), ('in_review', 'rejected'), ('approved', 'rejected'))
  then
    raise exception 'a payout cannot go from % to %', old.state, new.state using errcode = 'integrity_constraint_violation';
  end if;
  if (old.agent_id, old.request_id, old.mode, old.user_ref, old.stars, old.simulated, old.account_no)
    is distinct from
      (new.agent_id, new.request_id, new.mode, new.user_ref, new.stars, new.simulated, new.account_no)
    or (old.reviewed_by is not null and old.reviewed_by is distinct from new.reviewed_by)
    or (not withdrawn and old.approved_by is not null and old.approved_by is distinct from new.approved_by)
  then
    raise exception 'what a payout says stands' using errcode = 'integrity_constraint_violation';
  end if;
  new.changed_at := pohf_now();
  return new;
end $$;
