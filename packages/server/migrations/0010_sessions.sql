create table sessions (
  agent_id text not null,
  session_id text not null,
  at timestamptz not null default pohf_now(),
  mode text not null check (mode in ('live', 'test')),
  kind text not null check (kind in ('view', 'work', 'task', 'presence')),
  status text not null check (status in ('open', 'closed', 'scored', 'sealed', 'expired')),
  simulated boolean not null default false,
  -- Whose act it was, as far as the agent told us; null where only the session is known.
  member_ref text,
  workflow_id text,
  challenge text,
  source text,
  ended_at timestamptz,
  quality double precision check (quality between 0 and 1),
  verified boolean,
  assurance text check (assurance in ('low', 'substantial', 'high')),
  scoring text,
  components jsonb,
  flags text[] not null default '{}',
  reasons text[] not null default '{}',
  telemetry jsonb,
  evidence jsonb not null default '[]',
  -- Deleting the salt is erasure: the hashes in a credential then prove nothing about the person.
  salt bytea,
  credential_id text,
  primary key (agent_id, session_id, at),
  check (status not in ('scored', 'sealed') or (quality is not null and verified is not null)),
  check ((status = 'sealed') = (credential_id is not null))
) partition by range (at);
create index on sessions (agent_id, mode, kind, at, session_id);
insert into platform_partitioned values ('sessions', null);
call pohf_isolate('sessions');

create function sessions_transition() returns trigger language plpgsql as $$
begin
  if old.status is distinct from new.status and (old.status, new.status) not in
    (('open', 'closed'), ('open', 'expired'), ('closed', 'scored'), ('closed', 'expired'), ('scored', 'sealed')) then
    raise exception 'a session cannot go from % to %', old.status, new.status using errcode = 'check_violation';
  end if;
  if old.status in ('scored', 'sealed') and (old.quality, old.verified) is distinct from (new.quality, new.verified) then
    raise exception 'a session is scored once' using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger transition before update on sessions for each row execute function sessions_transition();

-- An id is used once per agent and mode, across all months.
create table session_claims (
  agent_id text not null,
  mode text not null,
  session_id text not null,
  at timestamptz not null,
  primary key (agent_id, mode, session_id)
);
call pohf_isolate('session_claims');
call pohf_make_partitions('sessions', now(), 3);
