-- Which live agents hold the free plan. Decided once, at the first need.
create table free_plan_grants (
  agent_id text not null,
  mode text not null check (mode = 'live'),
  granted_at timestamptz not null default pohf_now(),
  primary key (agent_id, mode)
);
call pohf_isolate('free_plan_grants');

-- Deployment-wide: a mail domain or network has so many places whoever takes them. The key is what makes the cap
-- hold under a race; row-level security still hides whose place it is.
create table free_plan_places (
  kind text not null check (kind in ('mail', 'network')),
  -- A keyed hash of the domain, mailbox or network.
  tag text not null check (length(tag) between 1 and 64),
  place int not null check (place > 0),
  agent_id text not null,
  primary key (kind, tag, place)
);
call pohf_isolate('free_plan_places');

-- Takes the first free place, or says that there is none.
create function credits_take_place(place_kind text, place_tag text, for_agent text, places int) returns boolean
language plpgsql set search_path = public, pg_temp as $$
begin
  for candidate in 1 .. places loop
    insert into free_plan_places (kind, tag, place, agent_id)
      values (place_kind, place_tag, candidate, for_agent) on conflict do nothing;
    if found then return true; end if;
  end loop;
  return false;
end $$;
