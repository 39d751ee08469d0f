-- Accounts of customers: their people, with a mail address and a role, and the agents that they own. None of it belongs to an
-- agent, so no agent sees it.
create table accounts (
  account_id text primary key,
  name text not null check (length(name) between 1 and 80),
  created_at timestamptz not null default pohf_now()
);
call pohf_hide_from_agents('accounts');

-- The agents of an account. The newest of each mode is the one that the console uses.
create table account_agents (
  agent_id text primary key,
  account_id text not null,
  mode text not null check (mode in ('live', 'test')),
  used_since timestamptz not null default pohf_now()
);
create index on account_agents (account_id, mode, used_since desc);
call pohf_hide_from_agents('account_agents');

create table account_people (
  person_id text primary key,
  email text not null unique check (length(email) between 3 and 320),
  created_at timestamptz not null default pohf_now()
);
call pohf_hide_from_agents('account_people');

create table account_roles (
  account_id text not null,
  person_id text not null,
  role text not null check (role in ('owner', 'developer', 'viewer')),
  joined_at timestamptz not null default pohf_now(),
  last_seen_at timestamptz,
  primary key (account_id, person_id)
);
create index on account_roles (person_id);
call pohf_hide_from_agents('account_roles');

create table account_invitations (
  invitation_id text primary key,
  account_id text not null,
  email text not null check (length(email) between 3 and 320),
  role text not null check (role in ('owner', 'developer', 'viewer')),
  -- The person who invited: their invitations go with their role.
  invited_by text not null,
  created_at timestamptz not null default pohf_now(),
  expires_at timestamptz not null,
  unique (account_id, email)
);
create index on account_invitations (email);
create index on account_invitations (expires_at);
call pohf_hide_from_agents('account_invitations');

-- Mailed links. Each is deleted when it is used, and works only beside the cookie of the browser that asked for it.
create table account_links (
  token_hash bytea primary key check (length(token_hash) = 32),
  browser_hash bytea not null check (length(browser_hash) = 32),
  email text not null check (length(email) between 3 and 320),
  -- Of a sign-up: the name of the account to create.
  account_name text check (length(account_name) between 1 and 80),
  -- Of a new address without a sign-up: the account whose invitation the mail names.
  invited_to text,
  expires_at timestamptz not null
);
create index on account_links (expires_at);
call pohf_hide_from_agents('account_links');

create table account_sessions (
  session_id text primary key,
  token_hash bytea not null unique check (length(token_hash) = 32),
  account_id text not null,
  person_id text not null,
  signed_in_by text not null check (signed_in_by in ('link', 'passkey')),
  browser text not null check (length(browser) between 1 and 80),
  created_at timestamptz not null default pohf_now(),
  last_seen_at timestamptz not null default pohf_now(),
  expires_at timestamptz not null
);
create index on account_sessions (person_id, created_at);
create index on account_sessions (expires_at);
call pohf_hide_from_agents('account_sessions');

create table account_passkeys (
  passkey_id text primary key,
  credential_id text not null unique check (length(credential_id) between 1 and 1400),
  person_id text not null,
  name text not null check (length(name) between 1 and 60),
  public_key bytea not null check (length(public_key) <= 2048),
  counter bigint not null check (counter between 0 and 4294967295),
  created_at timestamptz not null default pohf_now(),
  used_at timestamptz
);
create index on account_passkeys (person_id, created_at);
call pohf_hide_from_agents('account_passkeys');

create table account_challenges (
  challenge text primary key check (length(challenge) between 43 and 64),
  -- The person who adds a passkey; null for a sign-in, when nobody is known yet.
  person_id text,
  expires_at timestamptz not null
);
create index on account_challenges (expires_at);
call pohf_hide_from_agents('account_challenges');
