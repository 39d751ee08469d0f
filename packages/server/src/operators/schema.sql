-- The tables, types and functions of `operators` after all migrations, to be read and not run. Written by npm run generate from
-- the catalogue of a database; do not edit. Left out are names that PostgreSQL chose, the types of constants, and the role that
-- migrates. A table has row-level security where a line below it says so. Every role may execute a function, unless a line
-- above it says which may.

create table operator_audit (
  seq bigint not null,
  at timestamptz not null,
  operator_id text not null,
  action text not null,
  target text not null,
  details jsonb not null,
  prev_hash bytea not null,
  hash bytea not null,
  primary key (seq)
);
create trigger append_only before delete or update or truncate on operator_audit for each statement execute function
  pohf_append_only();
-- pohf_app may select, insert

create table operator_challenges (
  challenge text not null check (length(challenge) between 43 and 64),
  operator_id text,
  browser_hash bytea check (length(browser_hash) = 32),
  expires_at timestamptz not null,
  primary key (challenge),
  check ((operator_id is null) <> (browser_hash is null))
);
create index operator_challenges_expires_at_idx on operator_challenges (expires_at);
create index operator_challenges_operator_id_idx on operator_challenges (operator_id);
-- row-level security hidden from agents
-- pohf_app may select, insert, update, delete

create table operator_passkeys (
  passkey_id text not null,
  credential_id text not null check (length(credential_id) between 1 and 1400),
  operator_id text not null,
  name text not null check (length(name) between 1 and 60),
  public_key bytea not null check (length(public_key) <= 2048),
  counter bigint not null check (counter between 0 and 4294967295),
  created_at timestamptz not null default pohf_now(),
  used_at timestamptz,
  primary key (passkey_id),
  unique (credential_id)
);
create index operator_passkeys_operator_id_created_at_idx on operator_passkeys (operator_id, created_at);
-- row-level security hidden from agents
-- pohf_app may select, insert, update, delete

create table operator_sessions (
  session_id text not null,
  token_hash bytea not null check (length(token_hash) = 32),
  operator_id text not null,
  passkey_id text not null,
  browser text not null check (length(browser) between 1 and 80),
  created_at timestamptz not null default pohf_now(),
  last_seen_at timestamptz not null default pohf_now(),
  expires_at timestamptz not null,
  primary key (session_id),
  unique (token_hash)
);
create index operator_sessions_expires_at_idx on operator_sessions (expires_at);
create index operator_sessions_operator_id_created_at_idx on operator_sessions (operator_id, created_at);
create index operator_sessions_passkey_id_idx on operator_sessions (passkey_id);
-- row-level security hidden from agents
-- pohf_app may select, insert, update, delete

create table operators (
  operator_id text not null,
  name text not null,
  key_hash bytea not null,
  created_at timestamptz not null default pohf_now(),
  revoked_at timestamptz,
  made_by text,
  primary key (operator_id),
  unique (key_hash)
);
-- pohf_app may select, insert, update, delete
