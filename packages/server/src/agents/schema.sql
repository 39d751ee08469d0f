-- The tables, types and functions of `agents` after all migrations, to be read and not run. Written by npm run generate from
-- the catalogue of a database; do not edit. Left out are names that PostgreSQL chose, the types of constants, and the role that
-- migrates. A table has row-level security where a line below it says so. Every role may execute a function, unless a line
-- above it says which may.

create table agents (
  agent_id text not null,
  mode text not null check (mode in ('live', 'test')),
  name text not null,
  contact_email text not null,
  mail_domain text not null,
  network_tag text not null,
  allowed_origins text[] not null default '{}',
  rate_per_minute integer check (rate_per_minute > 0),
  created_at timestamptz not null default pohf_now(),
  email_confirmed_at timestamptz,
  suspended_at timestamptz,
  attestation jsonb not null default '{}',
  wide_network_tag text,
  policy jsonb not null default '{}',
  search_name text collate "C" not null generated always as (lower(name)) stored,
  primary key (agent_id),
  unique (agent_id, mode)
);
create index agents_by_email on agents (contact_email, agent_id);
create index agents_by_name on agents (search_name, agent_id);
-- row-level security by agent_id
-- pohf_app may select, insert, update, delete

create table api_key_hashes (
  key_hash bytea not null,
  agent_id text not null,
  key_id text not null,
  primary key (key_hash),
  foreign key (agent_id, key_id) references api_keys(agent_id, key_id)
);
-- row-level security by agent_id
-- pohf_app may select, insert, update, delete

create table api_keys (
  agent_id text not null,
  key_id text not null,
  hint text not null,
  scopes text[] not null check (cardinality(scopes) > 0),
  created_at timestamptz not null default pohf_now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  replaced_by text,
  primary key (agent_id, key_id),
  foreign key (agent_id) references agents(agent_id)
);
-- row-level security by agent_id
-- pohf_app may select, insert, update, delete

create table mail_tokens (
  token_hash bytea not null,
  agent_id text not null,
  purpose text not null check (purpose in ('confirm', 'recover')),
  expires_at timestamptz not null,
  used_at timestamptz,
  primary key (token_hash),
  foreign key (agent_id) references agents(agent_id)
);
create index mail_tokens_agent_id_purpose_idx on mail_tokens (agent_id, purpose);
create index mail_tokens_expires_at_idx on mail_tokens (expires_at);
-- row-level security by agent_id
-- pohf_app may select, insert, update, delete
