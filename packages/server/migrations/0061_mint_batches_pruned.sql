-- Deployment-wide: up to which number the old batches of a signer were deleted, in the transaction that deletes them. It goes
-- back with the database. A batch up to it was committed, although its row is gone.
create table mint_batches_pruned (
  signer text primary key check (signer ~ '^sgn_[0-9a-f]{16}$'),
  batch bigint not null check (batch > 0)
);
grant select on mint_batches_pruned to pohf_mint;
insert into mint_batches_pruned (signer, batch)
  select signer, min(batch) - 1 from mint_batches group by signer having min(batch) > 1;

-- Whether a restore recorded the batch without the journal of its signer, which did not answer.
alter table mint_batches add column given_up boolean not null default false;

-- As before, and a deleted batch counts as one that the database has: it is not lacking, and its number was used. One that
-- was given up is lacking.
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
declare
  forgotten bigint[];
  outcomes text[];
  tenant text := pohf_tenant();
  pruned bigint := coalesce((select edge.batch from mint_batches_pruned edge where edge.signer = of_signer), 0);
begin
  if acknowledged > pruned
    and not exists (select from mint_batches known where known.signer = of_signer and known.batch = acknowledged
      and not known.given_up) then
    raise exception 'the database lacks batch % of signer %', acknowledged, of_signer using errcode = 'PR001';
  end if;
  if of_batch <= pruned then
    raise exception 'batch % of signer % was used before', of_batch, of_signer using errcode = 'PR001';
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
