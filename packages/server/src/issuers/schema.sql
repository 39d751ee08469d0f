-- The tables, types and functions of `issuers` after all migrations, to be read and not run. Written by npm run generate from
-- the catalogue of a database; do not edit. Left out are names that PostgreSQL chose, the types of constants, and the role that
-- migrates. A table has row-level security where a line below it says so. Every role may execute a function, unless a line
-- above it says which may.

create table company_issuers (
  agent_id text not null,
  issuer_id text not null check (length(issuer_id) <= 64),
  name text not null check (length(name) between 1 and 80),
  issuer text not null check (length(issuer) between 1 and 256),
  domain text not null check (length(domain) between 4 and 237),
  client_id text not null check (length(client_id) between 1 and 256),
  client_secret_sealed text check (length(client_secret_sealed) <= 8192),
  acr text[] not null default '{}' check (cardinality(acr) <= 16),
  amr text[] not null default '{}' check (cardinality(amr) <= 16),
  token text not null check (length(token) between 32 and 64),
  created_at timestamptz not null default pohf_now(),
  changed_at timestamptz not null default pohf_now(),
  changed_by text not null check (length(changed_by) <= 64),
  checked_at timestamptz,
  due_at timestamptz,
  seen_at timestamptz,
  failed_since timestamptz,
  fault text check (fault in ('record_missing', 'dns_unavailable', 'tenant_mismatch', 'issuer_mismatch', 'issuer_unavailable')),
  primary key (agent_id, issuer_id),
  unique (agent_id, issuer),
  check ((fault is null) = (failed_since is null))
);
create index company_issuers_due_at_idx on company_issuers (due_at) where due_at is not null;
-- row-level security by agent_id
-- pohf_app may select, insert, update, delete

create table issuer_requests (
  state_hash bytea not null check (length(state_hash) = 32),
  issuer text not null check (length(issuer) between 1 and 128),
  person_id text,
  session_id text,
  origin text not null check (length(origin) <= 256),
  expires_at timestamptz not null,
  used_at timestamptz,
  primary key (state_hash)
);
create index issuer_requests_expires_at_idx on issuer_requests (expires_at);
create index issuer_requests_person_id_idx on issuer_requests (person_id) where person_id is not null;
create index issuer_requests_session_id_idx on issuer_requests (session_id) where session_id is not null;
-- row-level security hidden from agents
-- pohf_app may select, insert, update, delete

create table issuer_users (
  issuer text not null check (length(issuer) between 1 and 128),
  user_id text not null check (length(user_id) between 1 and 64),
  code_hash bytea not null check (length(code_hash) = 32),
  name_hash bytea not null check (length(name_hash) = 32),
  state text not null check (state in ('active', 'inactive', 'deleted')),
  created_at timestamptz not null default pohf_now(),
  changed_at timestamptz not null default pohf_now(),
  primary key (issuer, user_id),
  unique (issuer, code_hash)
);
create index issuer_users_by_name on issuer_users (issuer, name_hash);
-- row-level security hidden from agents
-- pohf_app may select, insert, update, delete
