-- Whose agents may order without an API key. Empty until an operator adds a root.
create table trust_roots (
  kind text not null check (kind in ('directory', 'jwks', 'issuer')),
  name text not null check (length(name) between 1 and 200),
  keys_url text not null check (length(keys_url) between 1 and 500),
  -- The mode of every order that rests on the root: never the caller's choice.
  mode text not null check (mode in ('live', 'test')),
  require_digest boolean not null default false,
  -- How many agents it has: each key of the root is one.
  agents int not null default 0 check (agents between 0 and 10000),
  reason text not null check (length(reason) between 1 and 500),
  added_at timestamptz not null default pohf_now(),
  primary key (kind, name)
);
call pohf_hide_from_agents('trust_roots');

-- The agent that each key of a root stands for.
create table trust_agents (
  mode text not null check (mode in ('live', 'test')),
  external_id text not null check (length(external_id) between 1 and 600),
  agent_id text not null,
  root_kind text not null,
  root_name text not null,
  created_at timestamptz not null default pohf_now(),
  primary key (mode, external_id)
);
create unique index trust_agents_by_agent on trust_agents (agent_id);
call pohf_hide_from_agents('trust_agents');

-- What works once, or counted: nonces, quotes, closed and open mandates, by hash. Kept until it could not be used anyway.
create table trust_uses (
  kind text not null check (kind in ('nonce', 'quote', 'closed', 'open')),
  hash bytea not null check (length(hash) = 32),
  uses int not null check (uses > 0),
  spent_usd_cents bigint not null check (spent_usd_cents >= 0),
  used_at timestamptz not null default pohf_now(),
  expires_at timestamptz not null,
  primary key (kind, hash)
);
create index trust_uses_expired on trust_uses (expires_at);
