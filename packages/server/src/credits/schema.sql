-- The tables, types and functions of `credits` after all migrations, to be read and not run. Written by npm run generate from
-- the catalogue of a database; do not edit. Left out are names that PostgreSQL chose, the types of constants, and the role that
-- migrates. A table has row-level security where a line below it says so. Every role may execute a function, unless a line
-- above it says which may.

create table dispute_passes (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  plan jsonb,
  is_done boolean not null default false,
  due_at timestamptz not null default pohf_now(),
  skipped integer not null default 0,
  primary key (agent_id, mode)
);
create index dispute_passes_due on dispute_passes (due_at) where not is_done;
-- row-level security by agent_id
-- pohf_app may select, insert, update, delete

create table disputed_packs (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  checkout_id text not null,
  pack text not null,
  amount_usd_cents bigint not null check (amount_usd_cents > 0),
  refunded_usd_cents bigint not null check (refunded_usd_cents >= 0),
  lost_usd_cents bigint not null check (lost_usd_cents >= 0),
  open_usd_cents bigint not null check (open_usd_cents >= 0),
  disputed_at timestamptz not null default pohf_now(),
  suspended integer not null default 0,
  revoked integer not null default 0,
  primary key (agent_id, mode, checkout_id)
);
-- row-level security by agent_id
-- pohf_app may select, insert, update, delete

create table free_plan_grants (
  agent_id text not null,
  mode text not null check (mode = 'live'),
  granted_at timestamptz not null default pohf_now(),
  primary key (agent_id, mode)
);
-- row-level security by agent_id
-- pohf_app may select, insert, update, delete

create table free_plan_months (
  month text not null check (month ~ '^\d{4}-\d{2}$'),
  granted integer not null check (granted > 0),
  primary key (month)
);
-- pohf_app may select, insert, update, delete

create table free_plan_places (
  kind text not null check (kind in ('mail', 'network', 'wide_network')),
  tag text not null check (length(tag) between 1 and 64),
  place integer not null check (place > 0),
  agent_id text not null,
  primary key (kind, tag, place)
);
create index free_plan_places_agent_id_idx on free_plan_places (agent_id);
-- row-level security by agent_id
-- pohf_app may select, insert, update, delete

-- pohf_mint may execute it
create function credits_hold(agents text[], modes text[])
  returns table(agent_id text, mode text, free bigint, remaining bigint, owes boolean, stopped boolean) language plpgsql
  set search_path to 'public', 'pg_temp' as $$
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

-- pohf_mint may execute it
create function credits_spend(agents text[], modes text[], refs text[], entry_ids text[], from_free boolean[],
  remaining bigint[], notice_ids text[], api_version text) returns void language plpgsql
  set search_path to 'public', 'pg_temp' as $$
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

create function credits_take_place(place_kind text, place_tag text, for_agent text, places integer) returns boolean
  language plpgsql set search_path to 'public', 'pg_temp' as $$
begin
  for candidate in 1 .. places loop
    insert into free_plan_places (kind, tag, place, agent_id)
      values (place_kind, place_tag, candidate, for_agent) on conflict do nothing;
    if found then return true; end if;
  end loop;
  return false;
end $$;
