-- Sessions of browsers that keep a key for the site, for 30 days. `key_hash` is over agent, mode and key: the same key at two
-- agents has two hashes. Whether a session got a credential is read from `sessions`, so the mint writes nothing here.
create table browser_sessions (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  key_hash bytea not null check (octet_length(key_hash) = 32),
  at timestamptz not null,
  session_id text not null,
  -- Counted as one of the keys that its network may bring on this day.
  returned boolean not null,
  primary key (agent_id, mode, key_hash, at, session_id)
);
create index browser_sessions_old on browser_sessions (at);
call pohf_isolate('browser_sessions');

-- Takes one of so many places that a tag has in a UTC day for all agents together; false where none is left.
create function roots_take_place(at timestamptz, of_tag text, places int)
returns boolean language plpgsql security definer set search_path = public, pg_temp as $$
declare at_hour int := roots_hour(at);
begin
  if places < 1 then return false; end if;
  insert into root_counters as counter (day, tag, spender, used, hours, day_limit)
    values (roots_day(at), of_tag, '', 1, array_fill(1, array[1], array[at_hour]), places)
    on conflict (day, tag, spender) do update set used = counter.used + 1,
      hours[at_hour] = coalesce(counter.hours[at_hour], 0) + 1, day_limit = excluded.day_limit
    where counter.used < excluded.day_limit;
  return found;
end $$;
revoke execute on function roots_take_place(timestamptz, text, int) from public;
grant execute on function roots_take_place(timestamptz, text, int) to pohf_app;
