-- The tables, types and functions of `trust` after all migrations, to be read and not run. Written by npm run generate from the
-- catalogue of a database; do not edit. Left out are names that PostgreSQL chose, the types of constants, and the role that
-- migrates. A table has row-level security where a line below it says so. Every role may execute a function, unless a line
-- above it says which may.

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
-- row-level security hidden from agents
-- pohf_app may select, insert, update, delete

create table trust_roots (
  kind text not null check (kind in ('directory', 'jwks', 'issuer')),
  name text not null check (length(name) between 1 and 200),
  keys_url text not null check (length(keys_url) between 1 and 500),
  mode text not null check (mode in ('live', 'test')),
  require_digest boolean not null default false,
  agents integer not null default 0 check (agents between 0 and 10000),
  reason text not null check (length(reason) between 1 and 500),
  added_at timestamptz not null default pohf_now(),
  primary key (kind, name)
);
-- row-level security hidden from agents
-- pohf_app may select, insert, update, delete

create table trust_uses (
  kind text not null check (kind in ('nonce', 'quote', 'closed', 'open')),
  hash bytea not null check (length(hash) = 32),
  uses integer not null check (uses > 0),
  spent_usd_cents bigint not null check (spent_usd_cents >= 0),
  used_at timestamptz not null default pohf_now(),
  expires_at timestamptz not null,
  primary key (kind, hash)
);
create index trust_uses_expired on trust_uses (expires_at);
-- pohf_app may select, insert, update, delete
