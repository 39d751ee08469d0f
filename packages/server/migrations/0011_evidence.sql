create table nonces (
  agent_id text not null,
  purpose text not null check (purpose in ('wallet', 'attest')),
  nonce text not null,
  message text,
  wallet text,
  member_ref text,
  chain_id bigint,
  expires_at timestamptz not null,
  used_at timestamptz,
  primary key (agent_id, purpose, nonce)
);
create index on nonces (expires_at);
call pohf_isolate('nonces');

-- Deployment-wide: in live a photo counts once for everybody. `scope` is 'live', or the agent in test.
create table photo_hashes (
  scope text not null,
  photo_hash bytea not null,
  agent_id text not null,
  session_id text not null,
  at timestamptz not null default pohf_now(),
  primary key (scope, photo_hash)
);
call pohf_isolate('photo_hashes');

-- The last place of a member, to about a kilometre: enough to see an impossible journey, no more.
create table presences (
  agent_id text not null,
  mode text not null,
  member_ref text not null,
  lat double precision not null,
  lng double precision not null,
  at timestamptz not null,
  primary key (agent_id, mode, member_ref)
);
call pohf_isolate('presences');
