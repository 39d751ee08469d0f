-- Operators sign in to their pages with a passkey. None of it belongs to an agent, so no agent sees it.
create table operator_passkeys (
  passkey_id text primary key,
  credential_id text not null unique check (length(credential_id) between 1 and 1400),
  operator_id text not null,
  name text not null check (length(name) between 1 and 60),
  public_key bytea not null check (length(public_key) <= 2048),
  counter bigint not null check (counter between 0 and 4294967295),
  created_at timestamptz not null default pohf_now(),
  used_at timestamptz
);
create index on operator_passkeys (operator_id, created_at);
call pohf_hide_from_agents('operator_passkeys');

-- A challenge adds a passkey to an operator, or signs in in one browser, when nobody is known yet.
create table operator_challenges (
  challenge text primary key check (length(challenge) between 43 and 64),
  operator_id text,
  browser_hash bytea check (length(browser_hash) = 32),
  expires_at timestamptz not null,
  check ((operator_id is null) <> (browser_hash is null))
);
create index on operator_challenges (expires_at);
create index on operator_challenges (operator_id);
call pohf_hide_from_agents('operator_challenges');

create table operator_sessions (
  session_id text primary key,
  token_hash bytea not null unique check (length(token_hash) = 32),
  operator_id text not null,
  -- A session ends with the passkey that opened it.
  passkey_id text not null,
  browser text not null check (length(browser) between 1 and 80),
  created_at timestamptz not null default pohf_now(),
  last_seen_at timestamptz not null default pohf_now(),
  expires_at timestamptz not null
);
create index on operator_sessions (operator_id, created_at);
create index on operator_sessions (passkey_id);
create index on operator_sessions (expires_at);
call pohf_hide_from_agents('operator_sessions');
