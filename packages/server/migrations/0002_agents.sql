create table agents (
  agent_id text primary key,
  mode text not null check (mode in ('live', 'test')),
  name text not null,
  contact_email text not null,
  mail_domain text not null,
  -- A keyed hash of the network that registered: enough to cap the free plan, useless to find a person.
  network_tag text not null,
  allowed_origins text[] not null default '{}',
  rate_per_minute int check (rate_per_minute > 0),
  created_at timestamptz not null default pohf_now(),
  email_confirmed_at timestamptz,
  suspended_at timestamptz,
  unique (agent_id, mode)
);
create index on agents (contact_email);
call pohf_isolate('agents');

create table api_keys (
  agent_id text not null references agents,
  key_id text not null,
  hint text not null,
  scopes text[] not null check (cardinality(scopes) > 0),
  created_at timestamptz not null default pohf_now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  replaced_by text,
  primary key (agent_id, key_id)
);
call pohf_isolate('api_keys');

-- Deployment-wide: a key names its agent, so the look-up cannot start from the agent.
create table api_key_hashes (
  key_hash bytea primary key,
  agent_id text not null,
  key_id text not null,
  foreign key (agent_id, key_id) references api_keys
);
call pohf_isolate('api_key_hashes');

-- Deployment-wide: mailed links carry the token alone.
create table mail_tokens (
  token_hash bytea primary key,
  agent_id text not null references agents,
  purpose text not null check (purpose in ('confirm', 'recover')),
  expires_at timestamptz not null,
  used_at timestamptz
);
create index on mail_tokens (agent_id, purpose);
call pohf_isolate('mail_tokens');
