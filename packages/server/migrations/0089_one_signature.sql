-- One live signature of each function. The mint was a function that called another of the same name, which could also be called
-- without recording a batch; a third one, without roots, and roots_reserve without a root were for older versions.
drop function roots_reserve(text, text, timestamptz, timestamptz, date[], jsonb[]);
drop function credentials_mint(text[], text[], text[], text[], text[], boolean[], text[], text[], timestamptz[],
  timestamptz[], text[], jsonb[], bytea[], text[], int[], text[], text[], text[], jsonb[], text[], text);
drop function credentials_mint(text[], text[], text[], text[], text[], boolean[], text[], text[], timestamptz[],
  timestamptz[], text[], jsonb[], bytea[], text[], int[], text[], text[], text[], jsonb[], text[], jsonb[], text);

create or replace function credentials_mint(
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
